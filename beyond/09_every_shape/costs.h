/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {0.982, 0.964, 1.04},
    .all_at_once = 1.307,
    .shared = 72.96,
    .into_sm = 2.873e+11,
    .out_of_l2 = 7669,
    .off_sector = 4.071,
    .off_line = 2.228,
    .k_tile = 208.8,
    .launch = 3.626e-17,
    .cluster = 770.3,
    .hidden_store = 0.3592,
    .exposed_store = 0.321,
    .tile_end = 2074,
    .split_start = 648.5,
    .sum_sent = 0.7081,
    .dram = 0.6731,
};
