/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {1.05, 0.979, 1.18},
    .all_at_once = 0.5929,
    .narrow = 31.97,
    .into_sm = 81.26,
    .out_of_l2 = 1.672e+04,
    .off_sector = 7.699,
    .k_tile = 178,
    .launch = 1122,
    .cluster = 1406,
    .hidden_store = 0.405,
    .exposed_store = 0.3908,
    .tile_end = 1951,
    .split_start = 2140,
    .sum_sent = 0.3227,
    .dram = 0.6208,
};
