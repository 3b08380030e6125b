/* nvml.c - the few functions of the NVIDIA Management Library that the report needs. Declared here, so that building
 * needs no header of it and running does not need the library. */
#include "nvml.h"

#include "cublas.h"

#include <dlfcn.h>

enum {
    NVML_CLOCK_SM = 1,
    NVML_FIELD_POWER_INSTANT = 186, /* milliwatts */
    NVML_VALUE_UINT = 1,
};

typedef struct {
    unsigned field, scope;
    long long timestamp, latency_us;
    int value_type, status;
    union {
        double real;
        unsigned number;
        unsigned long long long_number;
    } value;
} NvmlFieldValue;

typedef void *NvmlDevice;

struct Nvml {
    NvmlDevice device;
    int (*init)(void);
    int (*shutdown)(void);
    int (*handle_by_pci)(const char *bus_id, NvmlDevice *device);
    int (*driver_version)(char *text, unsigned size);
    int (*clock)(NvmlDevice device, int type, unsigned *mhz);
    int (*max_clock)(NvmlDevice device, int type, unsigned *mhz);
    int (*power)(NvmlDevice device, unsigned *milliwatts);
    int (*fields)(NvmlDevice device, int count, NvmlFieldValue *values);
};

Nvml *nvml_open(const char *pci_bus_id, char *why, size_t why_size) {
    Nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml) {
        snprintf(why, why_size, "out of memory");
        return NULL;
    }
    const LibraryFunction functions[] = {{"nvmlInit_v2", &nvml->init},
                                         {"nvmlShutdown", &nvml->shutdown},
                                         {"nvmlDeviceGetHandleByPciBusId_v2", &nvml->handle_by_pci},
                                         {"nvmlSystemGetDriverVersion", &nvml->driver_version},
                                         {"nvmlDeviceGetClockInfo", &nvml->clock},
                                         {"nvmlDeviceGetMaxClockInfo", &nvml->max_clock},
                                         {"nvmlDeviceGetPowerUsage", &nvml->power},
                                         {"nvmlDeviceGetFieldValues", &nvml->fields}};
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    find_functions(library, functions, 8);
    int can_start = nvml->init && nvml->shutdown && nvml->handle_by_pci;
    if (!library) {
        snprintf(why, why_size, "libnvidia-ml.so.1 was not found");
    } else if (!can_start || nvml->init() != 0) {
        snprintf(why, why_size, "libnvidia-ml.so.1 does not start");
    } else if (nvml->handle_by_pci(pci_bus_id, &nvml->device) != 0) {
        snprintf(why, why_size, "libnvidia-ml.so.1 does not know the device %s", pci_bus_id);
    } else {
        return nvml;
    }
    free(nvml);
    return NULL;
}

void nvml_close(Nvml *nvml) {
    if (nvml) {
        nvml->shutdown();
        free(nvml); /* the library stays loaded, as libcublas does */
    }
}

double nvml_sm_mhz(const Nvml *nvml) {
    unsigned mhz = 0;
    return nvml->clock && nvml->clock(nvml->device, NVML_CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

double nvml_max_sm_mhz(const Nvml *nvml) {
    unsigned mhz = 0;
    return nvml->max_clock && nvml->max_clock(nvml->device, NVML_CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

double nvml_watts(const Nvml *nvml) {
    NvmlFieldValue now = {.field = NVML_FIELD_POWER_INSTANT};
    if (nvml->fields && nvml->fields(nvml->device, 1, &now) == 0 && now.status == 0 &&
        now.value_type == NVML_VALUE_UINT) {
        return now.value.number / 1e3;
    }
    unsigned milliwatts = 0;
    return nvml->power && nvml->power(nvml->device, &milliwatts) == 0 ? milliwatts / 1e3 : 0;
}

void nvml_driver_version(const Nvml *nvml, char *text, size_t size) {
    if (!nvml->driver_version || nvml->driver_version(text, (unsigned)size) != 0) {
        text[0] = 0;
    }
}
