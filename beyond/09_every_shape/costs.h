/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {0.995, 0.96, 1.2},
    .all_at_once = 0.8538,
    .shared = 199.1,
    .into_sm = 43.17,
    .out_of_l2 = 6199,
    .off_sector = 2.8,
    .off_line = 1.734,
    .k_tile = 222.2,
    .launch = 2.726e-17,
    .cluster = 1804,
    .hidden_store = 0.4078,
    .exposed_store = 0.3715,
    .tile_end = 2318,
    .split_start = 2777,
    .sum_sent = 0.3524,
    .dram = 0.6873,
};
