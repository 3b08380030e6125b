/* cards.h - written by `make tune` from tests/bench/results: for cards where L2 has no room, tile group and speed of each
 * variant. choice.h takes them. */
static const Measured measured[] = {
    /* nvidia_h100_80gb_hbm3_2026-11-22_tune.csv: the choice has 1.010 of cuBLAS over its 7 shapes */
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x112", 8, 0.650},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x128", 4, 0.875},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x176", 6, 0.900},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x192", 8, 0.930},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256", 12, 1.000},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256_cluster_2", 16, 0.995},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x224", 16, 0.980},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_256x192", 8, 1.030},
    /* nvidia_h200_2026-11-22_tune.csv: the choice has 1.021 of cuBLAS over its 7 shapes */
    {"NVIDIA H200", 4814, "pingpong_128x112", 8, 0.865},
    {"NVIDIA H200", 4814, "pingpong_128x128", 8, 0.900},
    {"NVIDIA H200", 4814, "pingpong_128x176", 16, 0.925},
    {"NVIDIA H200", 4814, "pingpong_128x192", 8, 0.955},
    {"NVIDIA H200", 4814, "cooperative_128x256", 16, 1.000},
    {"NVIDIA H200", 4814, "cooperative_128x256_cluster_2", 16, 0.995},
    {"NVIDIA H200", 4814, "cooperative_128x224", 8, 0.995},
    {"NVIDIA H200", 4814, "cooperative_256x192", 8, 1.035},
};
