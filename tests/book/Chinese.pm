# Chinese.pm - what tools write into a .zh.md page, in Chinese: of the blocks of tests/bench/figures those on the pages that
# have a Chinese version, and of tests/tools/patches the phrases and tables about bugs. Strings are bytes.
package Chinese;
use strict;
use warnings;

# A {} in the English stands for anything, {#} for a number; {1}, {2} in the Chinese for that, as it is; {=1} for that in
# Chinese. The first that fits counts. Figures first, then bugs.
my @PHRASES = (
    'chapter' => '章',
    'adds' => '新增内容',
    'TFLOP/s at {}' => '{1} 时的 TFLOP/s',
    'ratio to cuBLAS' => '与 cuBLAS 之比',
    'cuBLAS' => 'cuBLAS',
    'its default choice' => '它默认选用的 kernel',
    'one thread for each element of C' => '每个线程计算 C 的一个元素',
    'tiles in shared memory, ldmatrix and mma.sync' => '共享内存中的分块，ldmatrix 与 mma.sync',
    'cp.async into a ring of stages' => '用 cp.async 填充多个 stage 组成的环形缓冲',
    'fragments of the next step loaded during the math of this one' => '计算这一步时加载下一步的片段',
    'TMA loads by one thread, completion counted by an mbarrier' => '一个线程发起 TMA 加载，由 mbarrier 计数判断是否完成',
    'wgmma from shared memory, asynchronous math' => 'wgmma 直接从共享内存取操作数，计算是异步的',
    'producer and consumer warpgroups, full and empty barriers, setmaxnreg' => '生产者与消费者 warpgroup，full 屏障与 empty 屏障，setmaxnreg',
    'persistent CTAs, ping-pong consumers, TMA store' => '持久化 CTA，乒乓消费者，TMA 存储',
    'On average over seven large shapes (in brackets the least), {} has {} and {} has {} of cuBLAS.'
        => '七个大形状的平均值（方括号内是最小值）：{1} 是 cuBLAS 的 {2} 倍，{3} 是 {4} 倍。',
    'On average over seven large shapes (in brackets the least), {} has {} of cuBLAS.'
        => '七个大形状的平均值（方括号内是最小值）：{1} 是 cuBLAS 的 {2} 倍。',
    'Figures: {}, {}, {}, {}, {}.' => '数据：{1}，{2}，{3}，{4}，{5}。',
    'Figures: {}, {}, {}, {}.' => '数据：{1}，{2}，{3}，{4}。',
    'Figures: {}.' => '数据：{1}。',
    '{}, {}, commit {}, with pauses between samples: {}' => '{1}，{2}，commit {3}，采样之间有停顿：{4}',
    '**{} TFLOP/s at {}, {} of cuBLAS** (chapter {} → chapter {}; {}, {}; [all shapes]({}))'
        => '**{1} TFLOP/s（{2}），是 cuBLAS 的 {3} 倍**（第 {4} 章 → 第 {5} 章；{6}，{7}；[所有形状]({8})）',
    '**{} TFLOP/s at {}, {} of cuBLAS** (chapter {}; {}, {}; [all shapes]({}))'
        => '**{1} TFLOP/s（{2}），是 cuBLAS 的 {3} 倍**（第 {4} 章；{5}，{6}；[所有形状]({7})）',
    'Recording makes a launch of {}, variant {} as in the picture, {#} % slower; in the recorded one the tensor cores are busy for {} % of the time by the events and {} % by FLOP ({}, {}; [all chapters]({})).'
        => '做记录会让一次 {1} 的启动（变体 {2}，与图中相同）慢 {3} %。做了记录的那次启动里，张量核心忙碌的时间按事件算占 {4} %，按 FLOP 算占 {5} %（{6}，{7}；[各章的数字]({8})）。',
    'Recording makes a launch of {} {#} % slower; in the recorded one the tensor cores are busy for {} % of the time by the events and {} % by FLOP ({}, {}; [all chapters]({})).'
        => '做记录会让一次 {1} 的启动慢 {2} %。做了记录的那次启动里，张量核心忙碌的时间按事件算占 {3} %，按 FLOP 算占 {4} %（{5}，{6}；[各章的数字]({7})）。',
    'Recording makes a launch of {} {#} % slower ({}, {}; [all chapters]({})).'
        => '做记录会让一次 {1} 的启动慢 {2} %（{3}，{4}；[各章的数字]({5})）。',
    'What recording costs this chapter has not been measured yet.' => '做记录会让本章慢多少，尚未测量。',
    'Not measured: {}.' => '尚未测量：{1}。',

    'what it is' => '内容',
    'why' => '为什么',
    'its figure' => '结果',
    'not measured yet' => '尚未测量',
    'a tile, a schedule and an order of tiles for each shape' => '为每种形状选一种分块、一种调度和一种分块次序',
    'no one kernel is the fastest everywhere' => '没有哪个 kernel 在所有形状上都最快',
    'e4m3 with scales for blocks, sums promoted every 128 of k' => 'e4m3，每块一个缩放因子，每 128 个 k 把部分和累加到 fp32 寄存器',
    'half the bytes and twice the products a cycle, with sums that stay exact enough' => '字节减半，每个周期的乘积加倍，而和仍然足够精确',
    'int4 weights, packed offline and converted in registers, for one expert or many' => 'int4 权重，离线打包，在寄存器里转换；一个或多个专家（expert）',
    'with few rows, weights are what is moved: half of the bytes of fp8' => '行数少的时候，要搬运的主要是权重：字节数是 fp8 的一半',
    'tiles stored into the memory of other GPUs from the epilogue, with flags' => '在尾声里把分块直接写进别的 GPU 的内存，用标志通知',
    'C is gathered while the rest of it is computed' => '一边汇集 C，一边计算余下的部分',
    'softmax(Q Kᵀ) V: two products in a chain, the softmax under other products' => 'softmax(Q Kᵀ) V：两个乘积首尾相接，softmax 藏在别的乘积之下',
    'what asynchronous products and turns are used for most' => '异步乘积与轮流执行最常见的用处',
    'chapter 08 on Blackwell: one thread multiplies, sums in tensor memory' => 'Blackwell 上的第 08 章：一个线程发出所有乘积，和放在张量内存（tensor memory）里',
    'what stays of Hopper, and what goes; on the CPU model alone' => 'Hopper 的东西哪些留下，哪些不再需要；只在 CPU 模型上运行过',
    'two CTAs multiply together, tiles by launch control (Blackwell)' => '两个 CTA 一起做乘积，分块由启动控制（launch control）分配（Blackwell）',
    'half of B in each CTA; on the CPU model alone' => '每个 CTA 只放一半的 B；只在 CPU 模型上运行过',
    '{} of cuBLAS, mean of seven large shapes [least]' => '是 cuBLAS 的 {1} 倍，七个大形状的平均值 [最小值]',
    '{} of the better of {} and cuBLASLt, mean of six shapes [least]' => '是 {2} 与 cuBLASLt 中较快者的 {1} 倍，六个形状的平均值 [最小值]',
    '{} of the faster of cuDNN and FlashAttention-3, mean of twelve problems [least]' => '是 cuDNN 与 FlashAttention-3 中较快者的 {1} 倍，十二个问题的平均值 [最小值]',
    '**{} of the faster of cuDNN and FlashAttention-3, mean of twelve problems [least]** ({}, {}; [all shapes]({}))'
        => '**是 cuDNN 与 FlashAttention-3 中较快者的 {1} 倍，十二个问题的平均值 [最小值]**（{2}，{3}；[所有问题]({4})）',
    '{} of cuBLASLt, mean of six shapes [least]' => '是 cuBLASLt 的 {1} 倍，六个形状的平均值 [最小值]',
    '{} to {} times the speed of fp8 at M = 16 to {}' => 'M = 16 到 {3} 时，速度是 fp8 的 {1} 到 {2} 倍',
    '{} on two GPUs in {} ms; cuBLAS, then NCCL: {} ms' => '两块 GPU 上 {1} 用 {2} ms；先 cuBLAS 再 NCCL：{3} ms',

    'bugs' => 'bug',
    'on an H200' => '在 H200 上',
    'the model says' => '模型报告',
    '{} bugs that the model calls a race, an H200 showed {} in every launch, {} in some and {} in none; {} hung or failed'
        => '模型判为竞争的 bug 有 {1} 个。在 H200 上，{2} 个每次启动都出错，{3} 个有时出错，{4} 个从没出过错，{5} 个卡死或启动失败',
    'Hangs in every run' => '每次运行都卡死',
    'The launch fails' => '启动失败',
    'Hangs or fails at some sizes only' => '只在某些尺寸上卡死或启动失败',
    'Wrong in every run' => '每次运行，结果都错',
    'Wrong in some runs' => '有几次运行，结果错了',
    'Right in all 300 runs, and wrong all the same' => '300 次运行的结果都对，程序仍然是错的',
    'Mended by the compiler' => '编译器补救了',
    'Refused before the launch' => '还没启动就拒绝了',
    'Does not compile' => '编译不过',
    'right in {} runs' => '{1} 次运行全部正确',
    'wrong in {} of {} runs, all at {}' => '{2} 次运行中有 {1} 次出错，都在 {3} 上',
    'wrong in {} of {} runs' => '{2} 次运行中有 {1} 次出错',
    'hang' => '卡死',
    'hang at {}' => '在 {=1} 上卡死',
    'trap ({}) at {}' => '在 {=2} 上报错 {1}',
    'trap ({})' => '报错 {1}',
    'refused by the driver' => '驱动拒绝了它',
    'does not compile' => '编译不过',
    'not run yet' => '尚未运行',
    'repaired by ptxas ({})' => 'ptxas 补救了（{1}）',
    'the same machine code as without it' => '机器码和没有这个 bug 时相同',
    '{#} of {#}' => '{2} 个中有 {1} 个',
    '{} and {}' => '{=1} 和 {=2}',
    '{} or {}' => '{1} 或 {=2}',
);

# in_chinese(TEXT): dies if it is English and no phrase fits. A number, a size, a link and a name in capitals are neither.
sub in_chinese {
    my ($text) = @_;
    return $text if $text !~ /[A-Za-z]/ || $text =~ /^(?:[A-Z0-9_]+|cudaError\w+|[\dx]+|\[\w+\]\([^)]*\))$/;
    $text =~ s/\s+/ /g;
    for (my $i = 0; $i < @PHRASES; $i += 2) {
        my $pattern = join '', map { $_ eq '{}' ? '(.+?)' : $_ eq '{#}' ? '([\d.]+)' : quotemeta } split /(\{#?\})/, $PHRASES[$i];
        my @parts = $text =~ /^$pattern$/i or next;
        return $PHRASES[ $i + 1 ] =~ s/\{(=?)(\d)\}/$1 ? in_chinese($parts[$2 - 1]) : $parts[$2 - 1]/ger;
    }
    die "tests/book\/Chinese.pm has no phrase for \"$text\"\n";
}

# block(TEXT): the same for a block of Markdown: tables by cells, anything else by paragraphs.
sub block {
    my ($text) = @_;
    my @made;
    for my $part (split /\n\n+/, $text) {
        if ($part =~ /^\|/) {
            push @made, join "\n", map {
                /^\|(?: -+:? \|)+$/ ? $_ : join '|', map { /^(\s*)(.*?)(\s*)$/ ? $1 . in_chinese($2) . $3 : $_ } split /\|/, $_, -1
            } split /\n/, $part;
        } else {
            push @made, in_chinese($part =~ s/\s+\z//r);
        }
    }
    return join("\n\n", @made) . "\n";
}

1;
