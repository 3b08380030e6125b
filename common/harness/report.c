/* report.c - the words and figures a program prints. */
#include "report.h"

#include <errno.h>
#include <time.h>

int tensor_flop_per_clock(int capability) {
    switch (capability) {
    case 900: return 4096; /* Hopper: four tensor cores, 512 multiply-adds each */
    case 800: return 2048; /* A100 */
    default: return 0;
    }
}

double tensor_peak_tflops(const DeviceInfo *device) {
    return tensor_flop_per_clock(device->capability) * (double)device->sm_count * device->max_sm_mhz * 1e-6;
}

void print_device(FILE *out, const DeviceInfo *device, int cublas) {
    fprintf(out, "device   %s, %d SMs", device->name, device->sm_count);
    if (device->capability) {
        fprintf(out, ", driver %s (CUDA %d.%d), built with CUDA %d.%d",
                device->driver_version[0] ? device->driver_version : "unknown", device->driver_cuda / 1000,
                device->driver_cuda % 1000 / 10, device->runtime_cuda / 1000, device->runtime_cuda % 1000 / 10);
    }
    if (cublas) {
        fprintf(out, ", cuBLAS %d.%d.%d", cublas / 10000, cublas % 10000 / 100, cublas % 100);
    }
    fputc('\n', out);
}

void print_right(FILE *out, const Problem *problem, const Tally *tally, long launches, const char *when) {
    const ResultView *view = &problem->view;
    fprintf(out, "right    %s%s: %llu elements ", data_names[problem->data], when,
            (unsigned long long)view->m * (unsigned long long)view->n);
    if (view->exact) {
        fprintf(out, "exact");
    } else {
        fprintf(out, "within tolerance (accumulation used %.2g of its allowance)", (double)tally->worst);
    }
    fprintf(out, ", nothing written outside C");
    if (launches > 1) {
        fprintf(out, ", %ld launches with the same bits", launches);
    }
    fputc('\n', out);
}

static void print_rate(FILE *out, const char *label, const Contestant *contestant, double flop) {
    Spread tflops = tflops_of(contestant, flop);
    Spread ms = spread_of(contestant->ms, contestant->samples);
    fprintf(out, "%-8s %.4g TFLOP/s, median of %d (%.4g .. %.4g), %.4g ms a launch", label, tflops.median,
            contestant->samples, tflops.min, tflops.max, ms.median);
    if (mhz_of(contestant) > 0) {
        fprintf(out, ", SM clock %.0f MHz", mhz_of(contestant));
    }
    if (watts_of(contestant) > 0) {
        fprintf(out, ", %.0f W", watts_of(contestant));
    }
    fputc('\n', out);
}

void print_speed(FILE *out, const DeviceInfo *device, const Problem *problem, const Contestant *chapter,
                 const Contestant *cublas) {
    int is_fp8 = kind_row_unit(problem->shape.kind) == 16, times = is_fp8 ? 2 : 1;
    double flop = kind_flop(&problem->shape, &problem->gemm), median = tflops_of(chapter, flop).median;
    double peak = times * tensor_peak_tflops(device);
    print_rate(out, "speed", chapter, flop);
    if (cublas) {
        print_rate(out, "cuBLAS", cublas, flop);
    }
    const char *separator = "";
    fprintf(out, "ratio    ");
    if (cublas) {
        fprintf(out, "%.3f of cuBLAS in the same rounds", median / tflops_of(cublas, flop).median);
        separator = ", ";
    }
    if (peak > 0) {
        fprintf(out,
                "%s%.1f %% of the dense %s peak: %d FLOP/clock/SM * %d SMs * %d MHz (highest clock) = %.0f TFLOP/s",
                separator, 100 * median / peak, is_fp8 ? "fp8" : "bf16",
                times * tensor_flop_per_clock(device->capability), device->sm_count, device->max_sm_mhz, peak);
        separator = ", ";
    }
    fprintf(out, "%s\n", *separator ? "" : "nothing to compare with");
}

FILE *csv_open(const char *path, const char *header) {
    FILE *csv = fopen(path, "a+");
    char there[256] = "";
    if (!csv) {
        fprintf(stderr, "--csv: \"%s\" cannot be written: %s\n", path, strerror(errno));
        return NULL;
    }
    fseek(csv, 0, SEEK_END);
    if (ftell(csv) == 0) {
        fprintf(csv, "%s\n", header);
        return csv;
    }
    rewind(csv);
    if (!fgets(there, sizeof there, csv) || strncmp(there, header, strlen(header)) != 0 ||
        there[strlen(header)] != '\n') {
        fprintf(stderr, "--csv: \"%s\" has another first line than \"%s\"; a new file is accepted\n", path, header);
        fclose(csv);
        return NULL;
    }
    fseek(csv, 0, SEEK_END);
    return csv;
}

/* A field of its own: no commas. */
static void csv_text(FILE *csv, const char *text) {
    for (; *text; text++) {
        fputc(*text == ',' ? ' ' : *text, csv);
    }
    fputc(',', csv);
}

void csv_rate(FILE *csv, const CsvSource *source, const Shape *shape, const Contestant *contestant, Spread tflops,
              double cublas_median) {
    csv_text(csv, source->gpu);
    csv_text(csv, source->date);
    csv_text(csv, source->commit);
    csv_text(csv, source->mode);
    fprintf(csv, "%d,%d,%d,", shape->m, shape->n, shape->k);
    csv_text(csv, contestant->name);
    fprintf(csv, "%.5g,%.5g,%.5g,", tflops.median, tflops.min, tflops.max);
    if (cublas_median > 0) {
        fprintf(csv, "%.4f", tflops.median / cublas_median);
    }
    fputc(',', csv);
    if (mhz_of(contestant) > 0) {
        fprintf(csv, "%.0f", mhz_of(contestant));
    }
    fputc(',', csv);
    if (watts_of(contestant) > 0) {
        fprintf(csv, "%.0f", watts_of(contestant));
    }
    fprintf(csv, ",%s\n", source->versions);
    fflush(csv);
}

void versions_text(const DeviceInfo *device, int cublas, char text[128]) {
    int used = snprintf(text, 128, "%s,%d.%d,", device->driver_version, device->runtime_cuda / 1000,
                        device->runtime_cuda % 1000 / 10);
    if (cublas) {
        snprintf(text + used, 128 - (size_t)used, "%d.%d.%d", cublas / 10000, cublas % 10000 / 100, cublas % 100);
    }
}

void today(char text[16]) {
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, 16, "%Y-%m-%d", &local);
}

const char *commit_name(void) {
    const char *commit = getenv("COMMIT");
    return commit && *commit ? commit : "unknown";
}
