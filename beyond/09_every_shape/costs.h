/* costs.h - written by `make tune` from the surveys of seeds below 1000 in tests/bench/results. choice.h takes it. */
static const Costs costs = {
    .math = {1.32, 1.23, 1.47},
    .narrow = 43.18,
    .into_sm = 66.58,
    .off_sector = 2143,
    .k_tile = 149.7,
    .launch = 6244,
    .hidden_store = 0.3671,
    .exposed_store = 0.3363,
    .tile_end = 2725,
    .split_start = 3589,
    .sum_sent = 0.3065,
    .dram = 0.6192,
};
