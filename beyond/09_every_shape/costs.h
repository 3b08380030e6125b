/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {1, 1, 1.1},
    .all_at_once = 0.7253,
    .shared = 153,
    .out_of_l2 = 5741,
    .off_sector = 2.997,
    .off_line = 1.409,
    .k_tile = 266.4,
    .launch = 457.2,
    .hidden_store = 0.3671,
    .exposed_store = 0.3009,
    .sum_sent = 0.4535,
    .dram = 1.13,
};
