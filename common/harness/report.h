/* report.h - what a program prints, and the CSV rows. */
#ifndef REPORT_H
#define REPORT_H

#include "timing.h"

/* Dense bf16 FLOP per clock of one SM's tensor cores; 0 where unknown. */
int tensor_flop_per_clock(int capability);
/* TFLOP/s if every SM's tensor cores work in every cycle at the highest clock; 0 where unknown. */
double tensor_peak_tflops(const DeviceInfo *device);

/* Name, SMs, driver, CUDA and cuBLAS version, in a line. `cublas`: version, 0 if absent. */
void print_device(FILE *out, const DeviceInfo *device, int cublas);
/* One line about a checked result that is right. */
void print_right(FILE *out, const Problem *problem, const Tally *tally, long launches, const char *when);
/* The lines about speed. `cublas` may be NULL. */
void print_speed(FILE *out, const DeviceInfo *device, const Problem *problem, const Contestant *chapter,
                 const Contestant *cublas);

/* Where a figure comes from. */
typedef struct {
    const char *gpu;
    const char *date;     /* "2026-01-31" */
    const char *commit;   /* git describe, or "unknown" */
    const char *mode;     /* "paused", or the group of a plan */
    const char *versions; /* as versions_text() writes them */
} CsvSource;

/* The last columns of every table. */
#define CSV_VERSIONS "driver,cuda,cublas"
#define CSV_HEADER \
    "gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w," CSV_VERSIONS

/* The fields of CSV_VERSIONS: "580.65.06,13.0,13.1.0"; empty where a version is not known. `cublas`: 0 if absent. */
void versions_text(const DeviceInfo *device, int cublas, char text[128]);

/* Opens for appending and writes `header`, CSV_HEADER or that of another table, into an empty file. NULL after one
 * line on stderr, also where the file begins with another header. */
FILE *csv_open(const char *path, const char *header);
/* One row. cublas_median: TFLOP/s; 0 leaves the ratio empty, as unknown clock and power are. */
void csv_rate(FILE *csv, const CsvSource *source, const Shape *shape, const Contestant *contestant, Spread tflops,
              double cublas_median);
/* Today as YYYY-MM-DD. */
void today(char text[16]);
/* The COMMIT environment variable, or "unknown". */
const char *commit_name(void);

#endif
