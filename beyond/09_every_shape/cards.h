/* cards.h - written by `make tune` from tests/bench/results: for cards where L2 has no room, tile group and speed of each
 * variant. choice.h takes them. */
static const Measured measured[] = {
    /* nvidia_h100_80gb_hbm3_2026-11-22_tune.csv: the choice has 1.012 of cuBLAS over its 7 shapes */
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x112", 8, 0.660},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x128", 4, 0.880},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x176", 4, 0.910},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x192", 8, 0.940},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256", 16, 1.000},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256_cluster_2", 16, 0.995},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x224", 16, 0.975},
    /* nvidia_h200_2026-11-22_tune.csv: the choice has 1.021 of cuBLAS over its 7 shapes */
    {"NVIDIA H200", 4814, "pingpong_128x112", 8, 0.845},
    {"NVIDIA H200", 4814, "pingpong_128x128", 8, 0.895},
    {"NVIDIA H200", 4814, "pingpong_128x176", 16, 0.925},
    {"NVIDIA H200", 4814, "pingpong_128x192", 12, 0.955},
    {"NVIDIA H200", 4814, "cooperative_128x256", 16, 1.000},
    {"NVIDIA H200", 4814, "cooperative_128x256_cluster_2", 16, 0.995},
    {"NVIDIA H200", 4814, "cooperative_128x224", 16, 0.995},
};
