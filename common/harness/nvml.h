/* nvml.h - clocks and power from the driver's management library, loaded when used (libnvidia-ml.so.1). */
#ifndef NVML_H
#define NVML_H

#include <stddef.h>

typedef struct Nvml Nvml;

/* The device with this PCI bus id. NULL if the library or the device is missing: then one line in `why`. */
Nvml *nvml_open(const char *pci_bus_id, char *why, size_t why_size);
void nvml_close(Nvml *nvml); /* NULL is allowed */

/* Each returns 0 where the driver does not say. */
double nvml_sm_mhz(const Nvml *nvml);
double nvml_max_sm_mhz(const Nvml *nvml);
double
nvml_watts(const Nvml *nvml); /* at this moment where the driver offers it, otherwise its average over a second */
void nvml_driver_version(const Nvml *nvml, char *text, size_t size); /* empty if unknown */

#endif
