/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {0.998, 1.01, 1.11},
    .all_at_once = 0.6609,
    .shared = 135.6,
    .out_of_l2 = 6064,
    .off_sector = 3.036,
    .off_line = 1.273,
    .k_tile = 251.5,
    .launch = 815.2,
    .hidden_store = 0.3508,
    .exposed_store = 0.2849,
    .sum_sent = 0.4746,
    .dram = 1.109,
};
