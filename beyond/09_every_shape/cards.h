/* cards.h - written by `make tune` from tests/bench/results: for cards where L2 has no room, tile group and speed of each
 * variant. choice.h takes them. */
static const Measured measured[] = {
    /* nvidia_h100_80gb_hbm3_2026-11-23_tune.csv: the choice has 1.022 of cuBLAS over its 7 shapes */
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x112", 8, 0.645},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x128", 4, 0.890},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x176", 4, 0.905},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x192", 8, 0.945},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x208", 8, 0.925},
    {"NVIDIA H100 80GB HBM3", 3352, "pingpong_128x208_cluster_2", 16, 0.930},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256", 16, 1.000},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x256_cluster_2", 16, 0.990},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_128x224", 8, 0.990},
    {"NVIDIA H100 80GB HBM3", 3352, "cooperative_256x200", 12, 1.015},
    /* nvidia_h200_2026-11-23_tune.csv: the choice has 1.027 of cuBLAS over its 7 shapes */
    {"NVIDIA H200", 4814, "pingpong_128x112", 8, 0.835},
    {"NVIDIA H200", 4814, "pingpong_128x128", 8, 0.910},
    {"NVIDIA H200", 4814, "pingpong_128x176", 8, 0.930},
    {"NVIDIA H200", 4814, "pingpong_128x192", 8, 0.950},
    {"NVIDIA H200", 4814, "pingpong_128x208", 16, 0.940},
    {"NVIDIA H200", 4814, "pingpong_128x208_cluster_2", 16, 0.935},
    {"NVIDIA H200", 4814, "cooperative_128x256", 16, 1.000},
    {"NVIDIA H200", 4814, "cooperative_128x256_cluster_2", 16, 0.990},
    {"NVIDIA H200", 4814, "cooperative_128x224", 16, 0.990},
    {"NVIDIA H200", 4814, "cooperative_256x200", 8, 1.020},
};
