/* nccl.h - a stub: the types and constants of NCCL 2.28 that the programs of several GPUs name. They load NCCL's
 * functions when they run, so there are none here. optional.t compiles against it where NCCL's own header is
 * missing. */
#ifndef STUB_NCCL_H
#define STUB_NCCL_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#define NCCL_CTA_POLICY_ZERO 0x02
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#define NCCL_CONFIG_INITIALIZER {0}

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow *ncclWindow_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef struct {
    int blocking, cgaClusterSize, minCTAs, maxCTAs, CTAPolicy;
} ncclConfig_t;
typedef enum { ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError } ncclResult_t;
typedef enum { ncclInt8, ncclUint8, ncclInt32, ncclFloat32 = 7, ncclBfloat16 = 9 } ncclDataType_t;
typedef enum { ncclSum, ncclProd, ncclMax, ncclMin } ncclRedOp_t;

#endif
