/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {1, 0.996, 1.12},
    .all_at_once = 0.4441,
    .shared = 136.1,
    .out_of_l2 = 5776,
    .off_sector = 2.578,
    .off_line = 1.805,
    .k_tile = 152.8,
    .cluster = 1455,
    .hidden_store = 0.3071,
    .exposed_store = 0.2554,
    .sum_sent = 0.435,
    .dram = 1.248,
};
