# steps.mk - the stepping pages; included by the Makefile at the top. `make steps` writes build/book/steps/.

STEPS := build/book/steps

# Of each page: the options of the recorded run. Other seeds, policies and sizes are as right; these show much in few
# frames.
STEPS_RUN_05 := --m 128 --n 256 --k 512
STEPS_RUN_06 := --m 128 --n 256 --k 512
STEPS_RUN_07 := --m 128 --n 256 --k 384
STEPS_RUN_08 := --sms 1 --variant pingpong_128x128 --m 256 --n 256 --k 128
STEPS_RUN_14 := --sms 1 --m 128 --n 512 --k 128
STEPS_RUN_15 := --sms 2 --m 256 --n 512 --k 256 --policy eager
STEPS_CHAPTERS := $(foreach n,05 06 07 08 14 15,$(filter $(n)_%,$(CHAPTERS)))

# Bugs of different kinds. Each runs with the options of its patch's header.
STEPS_BUGS := 05_first_wait_for_parity_1 05_parity_never_flips 05_one_thread_waits_for_all \
              05_no_proxy_fence_before_refill \
              06_refilled_under_wgmma 06_refilled_without_syncthreads \
              07_producer_starts_with_parity_0 07_empty_expects_three_consumers 07_expect_tx_forgets_b \
              07_expect_tx_too_large \
              07_released_before_wgmma_wait 07_no_full_wait 07_empty_expects_one_consumer 07_no_wgmma_fence \
              08_both_first_turns_are_free 08_last_k_tile_never_released 08_buffer_reused_without_wait_read

# For the page on which one thing is changed, which takes the rest from chapters and bugs (changes).
STEPS_VARIANTS := 07_stages_2 07_stages_3

# The one command: it needs what breaks chapters (tests/tools/patches.mk), and writes all pages.
##learn make steps|write build/book/steps/: pages that step through recorded runs of the model: 05 to 08, 14 and 15, bugs, and 07 with one change
.PHONY: steps
tests/steps/steps.t: steps
steps: $(STEPS_CHAPTERS:%=$(B)/patches/main_%.o) $(STEPS_CHAPTERS:%=$(B)/patches/%)
	@$(foreach n,05 06 07 08 14 15,STEPS_RUN_$(n)='$(STEPS_RUN_$(n))') \
	    book/steps/write $(STEPS) $(B) '$(STEPS_CHAPTERS)' '$(STEPS_BUGS)' '$(STEPS_VARIANTS)'
