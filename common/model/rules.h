/* rules.h - what the model reports: RULE(id, title, what the same bug does on a GPU).
 *
 * The ids are stable: reports begin with them and tests name them. Title and GPU line are whole sentences without a
 * full stop. The GPU line says where hardware is known to forgive what the manual, and so the model, does not. */

/* ---- order of accesses */
RULE(RACE_RAW, "Read of data that is not yet known to be there",
     "numbers are right when the data happens to arrive first, wrong otherwise; it may pass every test on an idle GPU")
RULE(RACE_WAR, "Write to data that may still be read",
     "the reader gets a mixture of old and new data, seldom and under load; most runs look right")
RULE(RACE_WAW, "Two writes to the same place without an order", "either value may remain; which one depends on timing")
RULE(PROXY_FENCE, "Ordinary access and async-proxy access to the same memory without fence.proxy.async between",
     "mostly right; now and then the async unit sees stale data, because it does not look where ordinary stores wait")
RULE(GLOBAL_CONFLICT, "Threads access the same global memory, at least one writes, and nothing orders them",
     "either value may remain, or be read; which one depends on the order in which threads run")
RULE(LAUNCH_OVERLAP, "Access to global memory that the launch before may still use, without griddepcontrol.wait",
     "right while launches come one at a time; in a chain of launches it now and then reads data that is not there "
     "yet, or overwrites data that is still read")
RULE(SCOPE, "Atomic or fence whose scope does not reach the other device",
     "often right, since the flag itself arrives; but what was written before it need not be there, and adds of two "
     "devices may lose one another")
RULE(PEER_START, "Write to memory that the other device's stream may still use",
     "right where the host waits between launches; in a chain of them the device that is ahead overwrites what its "
     "neighbour still reads")
RULE(PEER_END, "A launch ends before it can know that what another device writes to its memory has arrived",
     "right where the host waits for both devices; the next launch of the stream now and then reads old data")

/* ---- places */
RULE(UNINIT_SHARED, "Read of shared memory that no thread or copy has written", "reads what the last kernel left there")
RULE(SHARED_BOUNDS, "Access outside the CTA's shared memory",
     "an illegal-address error, or silent damage to a neighbouring buffer")
RULE(GLOBAL_BOUNDS, "Access outside every allocation of global memory",
     "an illegal-address error, or silent damage to another allocation")
RULE(ALIGNMENT, "Address that the instruction does not accept",
     "a misaligned-address error; with a swizzle, data at the wrong places")
RULE(TMA_OPERAND, "TMA copy with an operand that the instruction does not accept",
     "an illegal-instruction error, or nothing is copied")
RULE(PROVENANCE, "A matrix operand is made of the wrong pieces",
     "wrong numbers in every run; test data with too much symmetry hides it")
RULE(RESULT_PLACE, "A result goes to a place in C that it does not belong to",
     "wrong numbers in every run; test data with too much symmetry hides it")
RULE(PRODUCT_DISCARDED, "Products are replaced before anyone has read them",
     "wrong numbers in every run: a part of each sum is missing")

/* ---- mbarriers */
RULE(BARRIER_UNINIT, "Use of an mbarrier that is not initialised",
     "hangs or passes at once, depending on what the memory held")
RULE(BARRIER_INIT_ORDER, "Use of an mbarrier whose initialisation is not ordered before",
     "usually passes; hangs in the rare run in which the initialising thread is late")
RULE(BARRIER_REINIT, "Initialisation of memory that holds a live mbarrier",
     "arrivals and bytes that were counted are lost: hangs or wrong numbers")
RULE(BARRIER_OVERWRITTEN, "Ordinary access to memory that holds an mbarrier",
     "a write makes the count garbage: hangs, passes early, or traps; what a read finds is undefined")
RULE(ARRIVE_OVERFLOW, "More arrivals at an mbarrier than its phase expects",
     "the launch fails; if the arrival falls into the next phase instead, waits pass too early or hang")
RULE(PHASE_SKIPPED, "A phase of an mbarrier can complete before a thread has seen the one before",
     "a slow or an early thread takes one phase for another: it hangs, or reads another lap's data; seldom, and at "
     "small sizes")
RULE(PHASE_STALE, "Wait with the parity of a phase that the thread has waited for before",
     "returns at once and reads the data of the previous lap, or hangs, depending on how far the barrier is")
RULE(PHASE_PARITY, "Wait at an mbarrier with a parity above 1",
     "the barrier looks at one bit of it: the wait passes at once or hangs, depending on that bit")
RULE(TX_COUNT, "The bytes announced to an mbarrier are not the bytes that its copies deliver",
     "too few announced: the phase completes while data is still in flight; too many: it never completes")
RULE(TX_RANGE, "Transaction count of an mbarrier outside -(2^20-1) .. 2^20-1",
     "a launch failure; 2^20 itself is still counted right")

/* ---- progress */
RULE(DEADLOCK, "No thread can go on", "hangs until it is killed")
RULE(CONVERGENCE, "Threads that must execute an instruction together do not",
     "undefined: hangs, wrong numbers, or passes, depending on how the compiler laid the branches out")
RULE(NAMED_BARRIER, "Barrier used with a count or in a way that does not fit its other uses",
     "hangs, or releases threads too early")
RULE(SETMAXNREG, "setmaxnreg that cannot be satisfied or is not allowed", "hangs in the increase, or traps")
RULE(LIVELOCK, "A thread polls without end and nothing else can happen", "hangs until it is killed")
RULE(ENDLESS, "A thread runs on without any progress", "hangs until it is killed")
RULE(FAULT, "Code of a kernel that a processor cannot execute",
     "an illegal-address error, or numbers without meaning: a GPU does not stop at a division by zero")

/* ---- clusters and exit */
RULE(CLUSTER_RANK, "CTA number outside the cluster", "a launch failure at run time")
RULE(CLUSTER_EXIT, "Shared memory or a barrier of a CTA that may already have ended",
     "a launch failure in some runs; seldom at small sizes")
RULE(CLUSTER_START, "Shared memory of a CTA that may not have started",
     "a launch failure, or what the CTA before left there; seldom, since the CTAs of a cluster start nearly together")
RULE(EXIT_IN_FLIGHT, "Thread or CTA ends with asynchronous work that no thread has waited for",
     "often nothing; at times the copy lands in the next CTA's shared memory, or reads it")

RULE(LAUNCH_CONTROL, "Cluster launch control after a refusal, or of bytes that are no answer",
     "undefined: a tile may be computed twice, or by no CTA")

/* ---- wgmma */
RULE(WGMMA_FENCE, "wgmma on registers that were accessed after the last wgmma.fence",
     "ptxas inserts the missing fence where it sees that it is missing (note C7519); then the numbers are right")
RULE(WGMMA_COMMIT, "wgmma that no commit_group closes",
     "by the manual no wait covers it, and accumulators may be read too early; ptxas 13.0 closes the group by itself")
RULE(WGMMA_IN_FLIGHT, "Access to registers of a wgmma that is not finished",
     "accumulators: ptxas inserts a wait (note C7514 or C7517), right, but the products no longer overlap; "
     "fragments of A: wrong numbers")
RULE(WGMMA_UNSETTLED, "Accumulators are used after the wait without registers_settled()",
     "right as long as the compiler leaves the use after the wait, which nothing makes it do")
RULE(WGMMA_OPERANDS, "The warps of a warpgroup issue different wgmmas", "undefined: wrong numbers in part of the tile")
RULE(WGMMA_DESCRIPTOR, "wgmma descriptor that describes no valid operand",
     "wrong numbers, or an illegal-instruction error")
RULE(REGISTERS_UNINIT, "Product added to registers that were never set",
     "adds whatever the registers held: wrong in every run, and different in each")

/* ---- tensor memory: nothing here has run on a Blackwell GPU, the GPU lines are the manual's and reports of others */
RULE(UNINIT_TENSOR, "Read of tensor memory that no instruction has written", "adds or reads what was there before")
RULE(TMEM_ALLOC, "Allocation of tensor memory that is not accepted", "undefined, or blocks for ever")
RULE(TMEM_FREE, "Tensor memory that is freed wrongly, or not at all",
     "undefined; other CTAs of the SM wait for ever for columns that are never freed")
RULE(TMEM_ADDRESS, "Address in tensor memory that the instruction does not accept",
     "undefined; a warp reaches the lanes of its quarter whatever the address says")
RULE(TCGEN05_DESCRIPTOR, "tcgen05.mma or .cp with a descriptor that describes no valid operand or shape",
     "an illegal-instruction error, or wrong numbers")
RULE(CTA_GROUP, "tcgen05 with a cta_group that does not fit the kernel's others, or its cluster", "undefined")
RULE(TCGEN05_FENCE, "Accesses of two threads to tensor memory without tcgen05.fence on both sides of what orders them",
     "mostly right; kernels that leave out the fence after a wait::ld are in use, and the manual asks for it")
