/* step_words.js - the words of the stepping pages, in English or Chinese: by ?lang=zh, otherwise by <html lang>. Load
 * it before step.js. */
"use strict";
window.step_words = (() => {
  const zh = (new URLSearchParams(location.search).get("lang") || document.documentElement.lang || "en").startsWith("zh");

  const number = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const t = (en, chinese) => (zh ? chinese : en);
  const range = (n) => [...Array(n).keys()];
  const capital = (text) => (zh ? text : text[0].toUpperCase() + text.slice(1));
  // In Chinese, blanks stand only between Chinese and Latin.
  const sentences = (list) => list.filter(Boolean).map(capital).join(zh ? "" : " ").replace(/([\u4e00-\u9fff）]) +(?=[\u4e00-\u9fff（])|(）) +/g, "$1$2");

  // ---- who: parts of a CTA, warps, lanes

  const parts = {
    producer: () => t("the producer", "生产者"),
    consumer: (n) => t(`consumer ${n}`, `消费者 ${n}`),
    warpgroup: (n) => `warpgroup ${n}`,
    multiplier: () => t("the thread that multiplies", "做乘法的线程"),
    epilogue: () => t("the epilogue", "收尾的线程束"),
    scheduler: () => t("the scheduler", "调度者"),
  };
  const part_of = (data, warp) => data.parts.findIndex((part) => warp <= part.warps[1]);
  // Of a pair: the data call barriers and buffers "full[0] of CTA 1"; the stages of CTA 1 count on.
  const in_cta = (text, cta) => (cta === undefined ? text : t(`${text} of CTA ${cta}`, `${text}（CTA ${cta}）`));
  const named = (text) => (typeof text === "string" ? in_cta(...text.split(" of CTA ")) : text);
  const stage_name = (data, i) => (data.ctas > 1 ? in_cta(i % data.ring, Math.floor(i / data.ring)) : i);
  const part_name = (part) => in_cta(parts[part.part](part.n), part.cta);
  const group_name = (data, group) => part_name(data.parts[group]);

  // "4-7,0:0,5:27 of 32" of the data in words.
  function ranges_text(text) {
    return text.split(",").map((item) => {
      const [warps, lanes] = item.split(":");
      const warp = `${warps.includes("-") ? t("warps", "warp") : "warp"} ${warps.replace("-", "–")}`;
      if (!lanes) return warp;
      if (lanes.endsWith(" of 32")) return t(`${warp} (${parseInt(lanes)} lanes)`, `${warp}（${parseInt(lanes)} 个 lane）`);
      return `${warp} ${t(lanes.includes("-") ? "lanes" : "lane", "lane")} ${lanes.replace("-", "–")}`;
    }).join(t(", ", "、"));
  }

  // Thread numbers in words: the part of the CTA if it has a role, else warps.
  function who(data, threads) {
    const groups = [...new Set(threads.map((thread) => part_of(data, thread >> 5)))];
    const warps = [...new Set(threads.map((thread) => (thread >> 5) % data.warps))];
    const one = threads.length === 1 ? `warp ${warps[0]} lane ${threads[0] & 31}` : null;
    const some = warps.length > 1 && warps.every((warp, i) => i === 0 || warp === warps[i - 1] + 1)
      ? `${t("warps", "warp")} ${warps[0]}–${warps[warps.length - 1]}`
        : `${warps.length > 1 ? t("warps", "warp") : "warp"} ${warps.join(t(", ", "、"))}`;
    const part = data.parts[groups[0]];
    if (groups.length === 1 && part.part !== "warpgroup") {
      const name = part_name(part);
      return warps.length > part.warps[1] - part.warps[0] || part.part === "producer" ? name : t(`${name} (${some})`, `${name}（${some}）`);
    }
    return one || some;
  }

  // ---- what has happened, in a sentence for each fact

  const rules_zh = {
    DEADLOCK: "没有一个线程能往下走",
    RACE_RAW: "要读的数据还不能保证已经写好",
    RACE_WAR: "要覆盖的数据可能还有人在读",
    PROXY_FENCE: "两个代理之间缺一道栅栏",
    PHASE_STALE: "等的是一个早已过去的阶段",
    PHASE_SKIPPED: "等待者可能错过一整个阶段",
    TX_COUNT: "声明的字节数与落地的字节数不符",
    WGMMA_FENCE: "寄存器在上一次 wgmma.fence 之后又被用过",
  };
  // Of "model: RULE: Title" and so on.
  const rule_title = (text) => /: .*?: (.*)/.exec(text)[1].replace(/^./, (c) => c.toLowerCase());
  const stages = (list) => (list || []).join(t(" and ", " 和 "));
  const s = (w) => (w.startsWith("warps ") ? "" : "s");
  // f: the fact; w: who has done it, in words; d: the data.
  const facts = {
    init: (f, w) => t(`${w} initialise${s(w)} the barriers: each is in phase 0 and expects its arrivals.`,
      `${w} 初始化各个屏障：都在阶段 0，待到达数都等于预期到达数。`),
    announce: (f, w) => t(`${w} arrive${s(w)} at ${f.barrier} and announce${s(w)} ${number(f.bytes)} bytes for phase ${f.phase}.`,
      `${w} 在 ${f.barrier} 上到达，并为阶段 ${f.phase} 声明 ${number(f.bytes)} 字节。`),
    load: (f, w, d) => t(`A TMA load starts: ${f.map} of k-tile ${f.k}, ${number(f.bytes)} bytes into stage ${f.stage}${d.ctas > 1 ? `, counted by ${f.barrier}` : ""}.`,
      `交给拷贝引擎：把 k-tile ${f.k} 的 ${f.map} 搬进 stage ${f.stage}，共 ${number(f.bytes)} 字节${d.ctas > 1 ? `，由 ${f.barrier} 计数` : ""}。`),
    cancel: (f, w) => t(`${w} requests one more tile with try_cancel: the 16 bytes of the answer will land in ${f.buffer}, counted by ${f.barrier}.`,
      `${w} 用 try_cancel 再要一个分块：16 字节的答复将写到 ${f.buffer}，由 ${f.barrier} 计数。`),
    landed: (f) => t(`${number(f.amount)} bytes${f.map ? ` of ${f.map === "answer" ? "the answer" : f.map}` : ""} landed${f.cta === undefined ? "" : ` in CTA ${f.cta}`}: ${f.barrier} has received ${number(f.has)} of ${number(f.of)} bytes in phase ${f.phase}.`,
      `${f.map ? `${f.map === "answer" ? "答复" : f.map} 的 ` : ""}${number(f.amount)} 字节落地${f.cta === undefined ? "" : `（CTA ${f.cta}）`}：${f.barrier} 的阶段 ${f.phase} 已有 ${number(f.has)} / ${number(f.of)} 字节。`),
    complete: (f) => t(`Phase ${f.phase} of ${f.barrier} is complete; phase ${f.phase + 1} begins.`,
      `${f.barrier} 的阶段 ${f.phase} 完成，阶段 ${f.phase + 1} 开始。`),
    arrive: (f, w) => t(`${w} ${f.answer === undefined ? "" : `read${s(w)} in the answer that there is ${f.answer ? "a tile" : "no tile left"} and `}arrive${s(w)} at ${f.barrier}: ${f.has} of ${f.of} arrivals in phase ${f.phase}.`,
      `${w} ${f.answer === undefined ? "" : `读了答复：${f.answer ? "有分块" : "没有了"}；`}在 ${f.barrier} 上到达：阶段 ${f.phase} 已有 ${f.has} / ${f.of} 次到达。`),
    wait: (f, w) => t(`${w} wait${s(w)} for parity ${f.parity} of ${f.barrier}: phase ${f.phase} is not complete yet.`,
      `${w} 等 ${f.barrier} 的奇偶位 ${f.parity}：阶段 ${f.phase} 还没有完成。`),
    passed: (f, w) => f.fresh
      ? t(`${w} wait${s(w)} for parity 1 of ${f.barrier} and continue${s(w)} at once: on a fresh barrier the phase before phase 0 counts as complete.`,
        `${w} 等 ${f.barrier} 的奇偶位 1，马上通过：屏障刚初始化完，阶段 0 的前一个阶段算作已完成。`)
      : t(`${w} continue${s(w)}: phase ${f.phase} of ${f.barrier}, parity ${f.parity}, is complete.`,
        `${w} 往下走：${f.barrier} 的阶段 ${f.phase}（奇偶位 ${f.parity}）已完成。`),
    met: (f) => f.cta < 0 ? t("All threads of both CTAs have reached cluster_sync().", "两个 CTA 的所有线程在 cluster_sync() 会合。") : t(`${in_cta("All threads", f.cta)} have reached __syncthreads().`, `${in_cta("所有线程", f.cta)}在 __syncthreads() 会合。`) +
      (f.stages.length ? t(` All have read stage ${stages(f.stages)}: it may be filled again.`,
        `stage ${stages(f.stages)} 大家都读完了：可以重填。`) : ""),
    fragments: (f, w) => t(`${w} read${s(w)} fragments of k-tile ${f.k} from stage ${f.stage}.`,
      `${w} 从 stage ${f.stage} 读 k-tile ${f.k} 的片段。`),
    issue: (f, w) => t(`${w} issues ${f.amount} wgmmas of k-tile ${f.k}: from now on the tensor cores may read stage ${stages(f.stages)}.`,
      `${w} 发出 k-tile ${f.k} 的 ${f.amount} 条 wgmma：从现在起，张量核心随时会读 stage ${stages(f.stages)}。`),
    mma: (f, w) => t(`${w} starts ${f.amount} product${f.amount === 1 ? "" : "s"} of k-tile ${f.k}: from now on the tensor cores may read stage ${stages(f.stages)}.`,
      `${w} 发起 k-tile ${f.k} 的 ${f.amount} 次乘法：从现在起，张量核心随时会读 stage ${stages(f.stages)}。`),
    commit: (f) => t(`The products of a commit are complete: it arrives at ${f.barrier} in phase ${f.phase}.`,
      `所跟踪的乘法都做完了：commit 在 ${f.barrier} 上到达，阶段 ${f.phase}。`),
    done: (f, w) => t(`The tensor cores compute the products of k-tile ${f.k} for ${w}. A thread that has not waited for them cannot know that they are complete.`,
      `张量核心为 ${w} 做 k-tile ${f.k} 的乘法。没等过的线程无从知道。`),
    waited: (f, w) => t(`${w} ha${s(w) ? "s" : "ve"} waited: the warpgroup's products up to group ${f.group} are complete.`,
      `${w} 等过之后知道：到第 ${f.group} 组为止，乘法都已做完。`),
    tile: (f, w) => t(`${w} takes the tile of C in row ${f.row}, column ${f.col}.`,
      `${w} 拿到 C 的第 ${f.row} 行、第 ${f.col} 列的分块。`),
    pack: (f, w) => t(`${w} write${s(w)} results into the buffer ${f.buffer}.`,
      `${w} 把结果写进缓冲区 ${f.buffer}。`),
    store: (f, w) => t(`${w} start${s(w)} TMA stores of ${f.amount} boxes from ${f.buffer}.`,
      `${w} 发起 TMA 存储，从 ${f.buffer} 存出 ${f.amount} 个框。`),
    stored: (f) => t(`The copy engine has read ${f.amount > 1 ? `${f.amount} boxes of ` : ""}${f.buffer} and written to C.`,
      `拷贝引擎读完了 ${f.buffer}${f.amount > 1 ? ` 的 ${f.amount} 个框` : ""}，写进了 C。`),
    report: (f, w, d) => t(`The model stops the launch and reports ${f.rule}: ${rule_title(d.report.text)}.`,
      `模型中止这次启动，报告 ${f.rule}${rules_zh[f.rule] ? `：${rules_zh[f.rule]}` : ""}。`),
    end: () => t("All threads have returned: the tile is complete.", "所有线程都已返回：分块算完了。"),
  };

  // What threads do at a time: the kind, and what belongs to it.
  const groups_over = (n) => t(`${n} wgmma group${n === 1 ? "" : "s"}`, `${n} 个 wgmma 组`);
  const doing = {
    begin: () => t("starting", "刚开始"),
    sync: (id) => id < 0 ? t("waiting in cluster_sync()", "在 cluster_sync() 等待") : id ? t(`waiting at barrier ${id}`, `在屏障 ${id} 等待`) : t("waiting in __syncthreads()",
      "在 __syncthreads() 等待"),
    met: (id) => id < 0 ? t("past cluster_sync()", "已过 cluster_sync()") : id ? t(`past barrier ${id}`, `已过屏障 ${id}`) : t("past __syncthreads()", "已过 __syncthreads()"),
    registers: (n) => t(`now with ${n} registers per thread`, `现在每个线程 ${n} 个寄存器`),
    load: (barrier) => t(`starting loads that ${barrier} counts`, `发起加载，由 ${barrier} 计数`),
    arrived: (barrier) => t(`has arrived at ${barrier}`, `已在 ${barrier} 上到达`),
    wait: (barrier, parity, phase) => t(`waiting for ${barrier}, parity ${parity} (phase ${phase})`,
      `等 ${barrier}，奇偶位 ${parity}（阶段 ${phase}）`),
    pass: (barrier, parity) => t(`testing ${barrier}, parity ${parity}`, `问 ${barrier}，奇偶位 ${parity}`),
    passed: (barrier) => t(`past the wait for ${barrier}`, `已等到 ${barrier}`),
    fragments: (stage) => t(`reading fragments from stage ${stage}, multiplying`, `从 stage ${stage} 读片段，做乘法`),
    issue: () => t("issuing wgmmas", "发出 wgmma"),
    mma: () => t("starting products", "发起乘法"),
    products: (n) => t(`waiting: at most ${groups_over(n)} may be unfinished`, `等，直到没完成的最多 ${groups_over(n)}`),
    waited: (n) => t(`past the wait: ${groups_over(n)} complete`, `已等到：${groups_over(n)}做完`),
    tile: () => t("with a new tile", "拿到新的分块"),
    pack: (out) => t(`writing to ${out}`, `正在写 ${out}`),
    fence: () => t("has executed the proxy fence", "已执行异步代理的栅栏"),
    ask: (out) => t(`has requested ${out}`, `已请求 ${out}`),
    answer: (yes) => (yes ? t("has read the answer: a tile", "读了答复：有分块") : t("has read the answer: no tile", "读了答复：没有了")),
    store: (out) => t(`starting stores from ${out}`, `从 ${out} 发起存储`),
    stores: (n, read) => t(`waiting until all but ${n} groups of stores are ${read ? "read" : "written"}`,
      `等存储${read ? "读完" : "写完"}，最多剩 ${n} 组`),
    returned: () => t("returned", "已返回"),
  };

  const stage_words = {
    none: () => t("not filled yet", "还没填过"), free: () => t("free", "空闲"), loading: () => t("being loaded", "正在加载"),
      full: () => t("full", "已满"),
    reading: () => t("being read", "正在被读"), read: () => t("read", "已读完"),
  };
  const may_touch = {
    none: () => t("only the loading thread", "只有加载的线程可以动"),
    free: () => t("only the loading thread", "只有加载的线程可以动"),
    loading: () => t("only the copy engine", "只有拷贝引擎可以动"),
    full: () => t("readers who have waited", "等过的线程可以读"),
    reading: () => t("readers; nobody may write", "可以读，谁也不许写"),
    read: () => t("nobody writes before the release", "释放之前，谁也不许写"),
  };

  // A value, or how a run ended: the rule that its report names.
  const word = (text) => ({ "as it is": t("as it is", "原样"), right: t("right", "结果正确"), refused: t("does not compile", "编译不过"),
    kept: t("kept", "保留"), out: t("taken out", "去掉"), DEADLOCK: t("hangs", "挂起"), RACE_WAR: t("a race", "竞争"),
    RACE_RAW: t("a race", "竞争"), WGMMA_FENCE: t("a fence is missing", "缺栅栏"), PROXY_FENCE: t("a fence is missing", "缺栅栏") })[text] || text;

  // For readers who do not know mbarriers yet.
  const help_lines = (data) => [
    t("An mbarrier counts arrivals and bytes. When none is missing, its phase is complete, and the next phase begins with the same counts.",
      "mbarrier 既数到达，也数字节。两样都齐了，当前阶段（phase）就完成，下一个阶段随即开始，计数照旧。"),
    t("Phases are numbered from 0; the parity in the small box is the phase modulo 2. A wait specifies a parity: it blocks while the current phase has that parity.",
      "阶段从 0 数起；小方框里是奇偶位（parity），也就是阶段号模 2。等待只给出一个奇偶位：当前阶段的奇偶位正是它，就阻塞。"),
    t("Dots are arrivals: done (●) or missing (○). The bar shows how many of the announced bytes have landed.",
      "圆点：来了的到达（●），还缺的到达（○）。横条：声明的字节里，落地了多少。"),
    data.only ? null
      : t("A stage is a part of shared memory for one k-tile of A and B. Its border shows its state: dashed if it is free, dotted while it is being loaded, plain if it is full or has been read, double while it is being read. ✎ says who may access it.",
      "stage（级）是共享内存里放一个 k-tile 的 A 和 B 的地方。边框表示状态：虚线是空闲，点线是正在加载，实线是已满或已读完，双线是正在被读。✎ 后面写着谁可以动它。"),
    t("Marks show which rows and stages have changed in this frame, or, on the last frame of a bug, which of them the report names. Threads that do the same share a line.",
      "带标记的行和 stage，是这一帧里变了的；在 bug 的最后一帧，是报告里提到的。做同一件事的线程合成一行。"),
    t("This is a run of the CPU model, with one of many correct orders of events; its steps do not measure time.",
      "这是 CPU 模型的一次运行。事件的次序只是许多合法次序中的一种；步数不是时间。"),
  ];

  const doer = (fact, data) =>
    fact.threads ? who(data, fact.threads) : fact.warpgroup === undefined ? "" : group_name(data, fact.warpgroup);

  // Loads of one k-tile in one sentence, and an answer that comes to both CTAs; with the names of stages, barriers and buffers.
  function merged(list, data) {
    const out = [];
    for (const raw of list) {
      const fact = { ...raw, barrier: named(raw.barrier), buffer: named(raw.buffer), stage: stage_name(data, raw.stage),
        stages: raw.stages && raw.stages.map((i) => stage_name(data, i)) };
      const other = out.find((one) => one.f === fact.f && (fact.f === "cancel" || fact.f === "load" && one.k === fact.k && one.stage === fact.stage));
      const both = (key) => `${other[key]}${t(" and ", " 和 ")}${fact[key]}`;
      if (other && fact.f === "cancel") Object.assign(other, { buffer: both("buffer"), barrier: both("barrier") });
      else if (other) Object.assign(other, { map: both("map"), bytes: other.bytes + fact.bytes });
      else out.push(fact);
    }
    return out;
  }

  return {
    zh, number, t, range, capital, sentences, part_of, in_cta, named, stage_name, part_name, group_name, ranges_text, who,
    stages, facts, doing, stage_words, may_touch, word, help_lines, doer, merged,
  };
})();
