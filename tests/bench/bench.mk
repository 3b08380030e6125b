# bench.mk - the measuring program; included by the Makefile at the top. How to call it is in bench.c.
#
# Built twice: BENCH times chapters, BENCH_PATCHED also the patched chapters that plans name, which take minutes to
# compile.

BENCH := $(B)/tests/bench/bench
BENCH_PATCHED := $(B)/tests/bench/bench_patched

##measure make bench|time all chapters, their steps and cuBLAS in turns; ARGS="--help" lists what can be chosen; PEERS=1: also CUTLASS, DeepGEMM and fast.cu; needs a GPU
##measure make bench-fp8|time 10 against cuBLASLt; PEERS=1: also DeepGEMM; needs a Hopper GPU
##measure make bench-w4a8|time 11 against 10; needs a Hopper GPU
##measure make bench-attention|time 13 against PyTorch's attention (cuDNN, FlashAttention-2); PEERS=1: also FlashAttention-3; needs a Hopper GPU
##measure make limits|measure the speed of wgmma, of mma.sync and of a device copy; needs a Hopper GPU
##measure make experiments|time the variants of tests/bench/plans/experiments; ARGS="--only stages"; needs a Hopper GPU
##measure make bench-build|build what these need, to run it elsewhere: build/release/tests/bench/bench_patched PLAN
##maintain make peers PEERS=1|compile the adapters of CUTLASS, DeepGEMM and fast.cu, without running them
##measure make figures|update the measured tables in the texts and the picture of the ladder from tests/bench/results
##measure make survey|compare 09 with cuBLAS at COUNT=n shapes that SEED=s draws; SEED=commit: the commit draws them; needs a Hopper GPU
.PHONY: survey bench bench-fp8 bench-w4a8 bench-attention limits experiments bench-build figures peers
figures:
	@tests/bench/figures

PLANS := $(wildcard tests/bench/plans/*)
PATCHES_INC := $(B)/include/patches.inc
$(PATCHES_INC): $(PLANS)
	@mkdir -p $(@D)
	@sed -n 's/^[^#|]*|[^|]*| *\([0-9][0-9]_[a-z0-9_]*\) *|.*/EACH_PATCH(\1)/p' $^ | sort -u >$(NEW) $(renamed)
planned_patches = $$(sed 's/.*(\(.*\))/\1/' $(PATCHES_INC))
$(B)/tests/bench/plan.o: $(PATCHES_INC) $(STEPS_INC)

ifneq ($(HAVE_NVCC),)
$(B)/tests/bench/alone.o: tests/bench/alone.cu $(NVCC_STAMP)
	$(call cuda_object,$(ARCH_SM90A))

# Peers: sources of others, cloned by tests/bench/peers/get (PEERS=1) or already in a directory (PEERS=DIRECTORY).
PEERS_IN := $(if $(filter 1,$(PEERS)),tests/bench/peers/.src,$(PEERS))
PEER_OBJECTS := $(if $(PEERS),$(patsubst %.cu,$(B)/%.o,$(filter-out %/flash3.cu,$(wildcard tests/bench/peers/*.cu))))
PEER_FLAGS := -std=c++17 -O3 -Icommon -I$(PEERS_IN)/fast.cu -I$(PEERS_IN)/DeepGEMM/deep_gemm/include \
              -I$(PEERS_IN)/cutlass/include -I$(PEERS_IN)/cutlass/tools/util/include --expt-relaxed-constexpr \
              -DNDEBUG -w
ifneq ($(PEERS),)
$(PEER_OBJECTS): $(B)/tests/bench/peers/%.o: \
        tests/bench/peers/%.cu tests/bench/peers/deepgemm.h tests/bench/peers/get $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tests/bench/peers/get $(PEERS_IN)
	$(Q)$(NVCC) $(PEER_FLAGS) $(ARCH_SM90A) -c $< -o $(NEW) $(renamed)
endif

# For optional.t: do the adapters compile?
peers: $(PEER_OBJECTS)

# FlashAttention-3's forward kernels of one type and two head sizes, without what 13 has not: some minutes of nvcc.
FLASH3 := $(if $(PEERS),$(B)/tests/bench/libflash3.so)
FLASH3_WITHOUT := LOCAL SOFTCAP PAGEDKV SPLIT APPENDKV PACKGQA VARLEN SM8x
$(B)/tests/bench/libflash3.so: tests/bench/peers/flash3.cu tests/bench/peers/get $(NVCC_STAMP)
	$(call say,NVCC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tests/bench/peers/get $(PEERS_IN)
	$(Q)$(NVCC) -O3 -std=c++17 --use_fast_math --expt-relaxed-constexpr --expt-extended-lambda -DNDEBUG -w \
	    $(ARCH_SM90A) \
	    -DCUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED -DCUTLASS_ENABLE_GDC_FOR_SM90 \
	    $(FLASH3_WITHOUT:%=-DFLASHATTENTION_DISABLE_%) \
	    -I$(PEERS_IN)/flash-attention/hopper -I$(PEERS_IN)/cutlass/include -Xcompiler -fPIC -shared $< -o $(NEW) $(renamed)
bench-attention: $(B)/library/libattention13.so $(FLASH3)
	$(COMMIT) tests/bench/attention.py $(FLASH3:%=--flash3 %) $(ARGS) && tests/bench/figures

BENCH_OBJECTS := $(addprefix $(B)/tests/bench/,bench.o plan.o runner.o measure.o alone.o cublaslt.o) \
                 $(call chapter_objects,$(CHAPTERS)) $(STEP_IDS:%=$(B)/gpu/%.o) $(PEER_OBJECTS) $(COMMON)
$(BENCH): $(BENCH_OBJECTS) $(LINK_STAMP)
	$(program)

# A patch that cannot be compiled is left out, and said so. All of them at once, whatever -j is.
$(BENCH_PATCHED): $(BENCH_OBJECTS) $(PATCHES_INC) $(LINK_STAMP) tests/tools/patches $(NVCC_STAMP) \
                  $(wildcard $(CHAPTER_DIRS:%=%/exercises/*.patch) $(CHAPTER_DIRS:%=%/experiments/*.patch)) \
                  $(wildcard $(CHAPTER_DIRS:%=%/*.cu) $(CHAPTER_DIRS:%=%/*.h) common/*.h common/device/*.h)
	$(Q)$(PATCHES) object $(planned_patches) | grep -v '	ok' >&2 || true
	$(call say,LINK,$@)
	$(Q)$(call link,$(filter %.o,$^) \
	    $$(for id in $(planned_patches); do ls build/ex*/$$id/gpu_ex*_$$id.o 2>/dev/null; done))

bench-build: $(BENCH) $(BENCH_PATCHED)

bench bench-fp8 bench-w4a8 limits survey: $(BENCH)
experiments: $(BENCH_PATCHED)
bench bench-fp8 bench-w4a8 limits:
	$(COMMIT) $(BENCH) $(patsubst bench-%,%,$(@:bench=ladder)) $(ARGS) && tests/bench/figures
survey:
	@$(COMMIT) BENCH=$(BENCH) tests/bench/survey '$(SEED)' '$(COUNT)'
experiments:
	$(COMMIT) $(BENCH_PATCHED) experiments $(ARGS) && tests/bench/figures
else
bench bench-fp8 bench-w4a8 bench-attention limits experiments bench-build survey peers:
	@echo "the bench cannot be built: $(NO_NVCC)" >&2; exit 1
endif
