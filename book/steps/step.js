/* step.js - the viewer of the stepping pages: <div class="step" data-step="07_warp_specialized"></div>.
 *
 * A page's data is NAME.js next to this file: a call of steps_data(NAME, data), with frames that hold facts without language.
 * A frame of a run has what has changed since the previous frame. step_words.js, which is loaded first, makes sentences
 * of facts. The viewer needs nothing else, and its pages open from disk.
 *
 * Position: #frame=12, or #NAME=12 where a page has several viewers. Keys: left, right, Home, End; p: the next phase. */
"use strict";
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const {
    zh, number, t, range, capital, sentences, part_of, in_cta, named, stage_name, part_name, group_name, ranges_text, who,
    stages, facts, doing, stage_words, may_touch, word, help_lines, doer, merged,
  } = window.step_words;
  const SOURCE_LINES = 5;

  // ---- small things

  // h("div.card.hot", {title: "x"}, child, ...): an element; null children are left out.
  function h(kind, attributes, ...children) {
    const [tag, ...classes] = kind.split(".");
    const element = document.createElement(tag || "div");
    if (classes.length) element.className = classes.join(" ");
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(9).filter((child) => child !== null && child !== undefined));
    return element;
  }
  // A view for each CTA, which gets the number of its CTA: undefined if there is only one.
  const each_cta = (data, view) => range(data.ctas).map((cta) => view(cta, data.ctas > 1 ? cta : undefined));
  const waiting = new Set(["sync", "wait", "products", "stores"]);

  // ---- a recorded run

  // Fills of a ring have eight colours in turn, so that a lap differs from the previous lap.
  const in_colour = (data, state, i) => `f${((i % data.ring) % 4) + (state.stages[i].lap % 2 ? 4 : 0)}`;

  // The state at each frame: what the frame says has changed, the rest as before.
  function unfold(data) {
    let state = {};
    return data.frames.map((frame) => (state = { ...state, ...frame }));
  }

  function bar(has, of) {
    const share = of > 0 ? Math.min(100, (100 * has) / of) : 0;
    return h("span.step-bar", { "aria-hidden": "true" }, h("span", { style: `width:${share}%` }));
  }

  function barrier_view(data, state, before, name) {
    const [phase, expected, pending, tx, announced, brought] = state.barriers[name];
    const changed = before && before.barriers && JSON.stringify(before.barriers[name]) !== JSON.stringify(state.barriers[name]);
    const arrived = expected - pending;
    const named = state === data.states[data.frames.length - 1] && data.report && data.report.text.includes(name);
    const waiters = (state.doing || []).flatMap((group, i) =>
      group.filter(([, what]) => what[0] === "wait" && what[1] === name)
        .map(([warps,
          what]) => `${data.parts[i].part === "warpgroup" ? ranges_text(warps.replace(/:[^,]*/g, "")) : group_name(data, i)}${t(` (${what[2]})`, `（${what[2]}）`)}`));
    return h(`tr.${changed || named ? "changed" : "same"}`, { "data-barrier": name, "data-phase": phase, "data-pending": pending,
      "data-tx": tx },
      h("th", { scope: "row" }, name.split(" ")[0].replace("_", "_\u200b")), // a phone's line may end there
      h("td", null, phase, h("span.step-parity", null, phase & 1)),
      h("td", null, expected <= 8 ? h("span.step-dots", { "aria-hidden": "true" }, "●".repeat(arrived) + "○".repeat(pending))
        : bar(arrived, expected),
        ` ${pending}`, h("small", null, t(` of ${expected}`, ` / ${expected}`))),
      h("td", null, announced || brought ? [bar(brought, announced), ` ${number(brought)}`,
        h("small", null, t(` of ${number(announced)}`, ` / ${number(announced)}`))] : "–"),
      h(`td.step-waits${waiters.length ? "" : ".nobody"}`, null, waiters.length ? `▮▮ ${waiters.join(t(", ", "、"))}` : "–"));
  }

  function barriers_view(data, state, before) {
    return each_cta(data, (cta, only) => h("section.step-barriers", null,
      h("h3", null, in_cta(t("Barriers", "屏障"), only)),
      h("div.step-scroll", null, h("table", null,
        h("thead", null, h("tr", null, h("th", null, ""), h("th", null, t("phase, parity", "阶段、奇偶位")),
          h("th", null, t("arrivals pending", "待到达数")),
          h("th", null, t("bytes landed", "落地字节")), h("th", null, t("who waits (for parity)", "谁在等（奇偶位）")))),
        h("tbody", null, data.barriers.filter((name) => state.barriers[name] && (only === undefined || name.endsWith(` ${only}`)))
          .map((name) => barrier_view(data, state, before, name)))))));
  }

  function stage_view(data, state, before, index) {
    const stage = state.stages[index];
    const kind = stage ? stage.state : "none";
    const reported = data.report && state === data.states[data.frames.length - 1] &&
      new RegExp(`^ +memory .*->[ab]\\[${index}\\]`, "m").test(data.report.text);
    const old = before && before.stages && before.stages[index];
    const changed = before && JSON.stringify(old || null) !== JSON.stringify(stage || null);
    const readers = stage && stage.by.length
      ? [...new Set(stage.by.map((warp) => (data.parts[part_of(data, warp)].part === "warpgroup" && !data.wgmma ? `warp ${warp}`
        : group_name(data, part_of(data, warp)))))] : [];
    const clash = (kind === "loading" || kind === "free") && readers.length > 0;
    const colour = kind === "none" || kind === "free" ? "n" : in_colour(data, state, index);
    return h(`div.step-stage.${colour}.is-${kind}${clash || reported ? ".hot" : ""}${changed ? ".changed" : ""}`,
      { "data-stage": index, "data-state": kind },
      h("b", null, `stage ${index % data.ring}`),
      h("span.step-state", null, !clash ? stage_words[kind]() : kind === "free" ? t("released while being read!",
        "还在读就释放了！") : t("being loaded while read!", "还在读就重填了！")),
      h("span", null, stage && kind !== "free"
        ? `k-tile ${stage.k}${data.tiles_many ? t(` of tile ${stage.tile}`, `，分块 ${stage.tile}`) : ""}` : "\u00a0"),
      stage && kind === "loading" ? Object.keys(stage.loaded).sort().map((map) =>
        h("small", null, `${map} `, bar(...stage.loaded[map]),
          ` ${stage.loaded[map][0] >> 10} / ${stage.loaded[map][1] >> 10} KiB`)) : null,
      readers.length ? h("small", null, t("read by ", "读者："), readers.length > 3 ? t(`${readers.length} warps`,
        `${readers.length} 个 warp`) : readers.join(t(", ", "、"))) : null,
      h("small.step-may", null, may_touch[kind]()));
  }

  function ring_view(data, state, before) {
    if (!state.stages) return null;
    return each_cta(data, (cta, only) => h("section.step-ring", null, h("h3", null, in_cta(t("Ring of stages", "stage 的环形缓冲"), only)),
      h("div.step-stages", null, range(data.ring).map((i) => stage_view(data, state, before, cta * data.ring + i)))));
  }

  function role_view(data, state, before, group) {
    const part = data.parts[group];
    const tile = state.tiles && state.tiles[group];
    return h(`div.step-role.${part.part}`, { "data-part": `${part.part}${part.n}` },
      data.wgmma || part.part !== "warpgroup" ? h("b", null, capital(part_name(part))) : null,
      tile && part.part !== "warpgroup" ? h("small", null, t(` tile of C: row ${tile[0]}, column ${tile[1]}`,
        ` C 的分块：第 ${tile[0]} 行、第 ${tile[1]} 列`)) : null,
      h("ul", null, state.doing[group].map(([warps, what]) => {
        const is_waiting = waiting.has(what[0]);
        return h(`li.${is_waiting ? "waits" : what[0] === "returned" ? "over" : "works"}`, null,
          h("span.step-who", null, ranges_text(warps)), " ", (is_waiting ? "▮▮ " : "") + doing[what[0]](...what.slice(1).map(named)));
      })));
  }

  function products_view(data, state) {
    if (!data.wgmma) return null;
    const list = state.products || [];
    return h("section.step-products", null, h("h3", null, t("Products in flight", "还没等到的乘法")),
      list.length ? list.map((p) => h(`div.step-product.${p.state}`, null,
        data.parts[p.warpgroup].part === "multiplier" ? `k-tile ${p.k}, stage ${stage_name(data, p.stages[0])}: `
          : t(`${group_name(data, p.warpgroup)}, group ${p.group}: k-tile ${p.k}, stage ${stages(p.stages)}: `,
            `${group_name(data, p.warpgroup)}，第 ${p.group} 组：k-tile ${p.k}，stage ${stages(p.stages)}：`),
        h("b", null, data.parts[p.warpgroup].part === "multiplier" ? t(`${p.issued} started, their commit has not come`, `已发起 ${p.issued} 次，commit 还没到`) : p.state === "over" ? t("computed, not waited for", "已做完，还没有人等过")
          : t(`${p.done} of ${p.issued} wgmmas done`, `${p.issued} 条 wgmma，做完 ${p.done} 条`))))
        : h("p.step-none", null, t("none", "没有")));
  }

  function buffers_view(data, state) {
    const in_report = (name) => data.report && state === data.states[data.frames.length - 1]
      && data.report.text.includes(`->${name}`);
    const names = Object.keys(state.buffers || {}).sort();
    const words = { written: t("being written", "正在写"), leaving: t("being stored: do not write", "正在存出：不许写"),
      stored: t("stored", "已存出"), asked: t("asked for", "已请求"), answer: t("an answer", "答复已到") };
    return names.length ? h("section.step-buffers", null, h("h3", null, data.ctas > 1 ? t("Answers and result buffers", "答复和结果缓冲区") : t("Result buffers", "结果缓冲区")),
      names.map((name) => h(`div.step-buffer.is-${state.buffers[name][0]}${in_report(name) ? ".hot" : ""}`, null, h("b", null, named(name)),
        ` ${words[state.buffers[name][0]]}`))) : null;
  }

  function source_view(data, state) {
    if (!data.source) return null;
    const lines = data.source.lines, own = state.line || 0;
    const line = own || (data.states.slice(0, data.states.indexOf(state)).reverse().find((one) => one.line) || { line: 1 }).line;
    const first = Math.max(0, Math.min(line - 1 - SOURCE_LINES, lines.length - 2 * SOURCE_LINES - 1));
    return h("section.step-source", null,
      h("h3", null, own ? `${data.source.file}:${own}` : data.source.file),
      h("pre", { tabindex: 0 }, range(2 * SOURCE_LINES + 1).filter((i) => first + i < lines.length).map((i) =>
        h(`span.line${first + i === own - 1 ? ".here" : ""}${Math.abs(first + i + 1 - line) > 2 ? ".off" : ""}`, null,
          `${String(first + i + 1).padStart(4)} ${first + i === own - 1 ? "▶" : " "} ${lines[first + i]}\n`))));
  }

  function bug_view(data, state, last) {
    if (!data.bug) return null;
    const diff = h("pre.step-diff", null, data.bug.diff.trimEnd().split("\n").map((line) =>
      h(`span.${line[0] === "+" ? "add" : line[0] === "-" ? "cut" : "as"}`, null, `${line}\n`)));
    if (!last) return h("details.step-bug", null, h("summary", null, t("The bug", "这个 bug")), diff);
    return h("section.step-report", { "data-rule": data.report.rule },
      h("h3", null, t("What the model reports", "模型的报告")),
      h("pre", { tabindex: 0, lang: "en" }, data.report.text),
      h("h3", null, t("The bug", "这个 bug")), diff,
      h("p.step-lesson", null, h("b", null, t("Lesson: ", "教训：")), h("span", { lang: "en" }, `${data.bug.lesson}.`)),
      data.bug.h200 ? h("p", null, h("b", null, t("On an H200: ", "在 H200 上：")),
        h("span", { lang: "en" }, `${data.bug.h200}.`)) : null);
  }

  const pages = {};

  pages.run = {
    title: (data) => data.bug ? t(`Bug ${data.name.replace(/^bug_/, "")}`, `Bug ${data.name.replace(/^bug_/, "")}`)
      : data.only ? t(`${data.only} through two loads`, `两次加载里的 ${data.only}`) : data.name,
    prepare(data) {
      data.states = unfold(data);
      data.ring = data.stages / data.ctas;
      data.wgmma = data.states.some((state) => state.products && state.products.length);
    },
    say: (data, k) => sentences(merged(data.frames[k].say, data).map((fact) => facts[fact.f](fact, doer(fact, data), data))),
    view(data, k) {
      const state = data.states[k], before = k > 0 ? data.states[k - 1] : null, last = k === data.frames.length - 1;
      if (data.only) {
        const [, , , tx, announced, brought] = state.barriers[data.only];
        return [barriers_view(data, state, before),
          h("p", { "data-tx": tx }, h("b", null, `tx-count: ${number(tx)}`),
            ` = ${number(announced)} ${t("announced", "已声明")} − ${number(brought)} ${t("landed", "已落地")}`),
            source_view(data, state)];
      }
      return [last ? bug_view(data, state, last) : null,
        h("div.step-columns", null, h("div", null, ring_view(data, state, before), barriers_view(data, state, before)),
          h("div", null, source_view(data, state), h("section.step-roles", null, h("h3", null, t("Who does what", "谁在做什么")),
            state.doing.map((_, i) => role_view(data, state, before, i))), products_view(data, state), buffers_view(data, state))),
        last ? null : bug_view(data, state, last)];
    },
  };

  // ---- one thing changed: a row for each thing, a button for each recorded run; how it ended is told when it was chosen, below it

  function mount_choice(box, data) {
    const place = h("div", null, h("p", null, t("Choose a value to see its recorded run here.", "选一个值：它的运行记录会出现在这里。")));
    const show = (name) => {
      for (const button of box.querySelectorAll("button[data-run]")) button.setAttribute("aria-pressed", button.dataset.run === name);
      for (const answer of box.querySelectorAll(`button[data-run="${name}"] small`)) answer.textContent = word(answer.dataset.ends);
      place.replaceChildren(h("div.step", { "data-step": name }));
      begin();
    };
    box.removeAttribute("data-step");
    box.replaceChildren(way_back(box), h("h2.step-title", null, t("Change one thing", "只改一处")),
      h("div.step-scroll", null, h("table.step-choice", null, data.rows.map(({ en, zh: chinese, runs }) => h("tr", null,
        h("th", { scope: "row" }, t(en, chinese)), h("td", null, runs.map(([name, value, what]) => name
          ? h("button", { type: "button", "data-run": name, onclick: () => show(name) }, word(value), " ", h("small", { "data-ends": what }, what === "as it is" ? word(what) : "?"))
          : h("span", null, value, " ", h("small", null, word(what))))))))), place);
    const linked = data.rows.flatMap((row) => row.runs).find(([name]) => location.hash.startsWith(`#${name}=`));
    if (linked) show(linked[0]);
  }
  function way_back(box) {
    const lesson = box.dataset.lesson;
    return lesson ? h("p.step-back", null, h("a", { href: zh ? lesson.replace("/en/", "/zh/").replace(/README.md$/, "README.zh.md") : lesson },
      t("← the lesson", "← 回到正文")), " · ", h("a", { href: `index.html${zh ? "?lang=zh" : ""}` }, t("all pages", "所有页面"))) : "";
  }

  function help(data) {
    return h("details.step-help", null, h("summary", null, t("How to read this", "这一页怎么看")),
      h("ul", null, help_lines(data).map((line) => line && h("li", null, line))));
  }

  // ---- a wait for each parity

  pages.parity = {
    title: () => t("A wait for each parity", "两种奇偶位各等一次"),
    say: (data, k) => {
      const f = data.frames[k];
      const done = f.phase === 0 ? t("A fresh barrier is in phase 0.", "刚初始化的屏障在阶段 0。")
        : t(`${f.phase === 1 ? "One phase is" : "Two phases are"} complete: the barrier is in phase ${f.phase}.`,
        `完成了 ${f.phase} 个阶段：屏障在阶段 ${f.phase}。`);
      const result = f.passes ? t(`A wait for parity ${f.parity} returns: the previous phase, ${f.phase - 1}, has that parity.`,
        `等奇偶位 ${f.parity}，通过：前一个阶段 ${f.phase - 1} 的奇偶位正是它。`)
        : t(`A wait for parity ${f.parity} blocks: the current phase has that parity.`,
          `等奇偶位 ${f.parity}，阻塞：当前阶段的奇偶位正是它。`);
      return sentences([done, result]);
    },
    view(data, k) {
      return [h("div.step-scroll", null, h("table.step-parities", null,
        h("thead", null, h("tr", null, h("th", null, t("the barrier is in", "屏障在")),
          h("th", null, t("wait for parity 0", "等奇偶位 0")), h("th", null, t("wait for parity 1", "等奇偶位 1")))),
        h("tbody", null, range(data.frames.length / 2).map((row) => h("tr", null,
          h("th", { scope: "row" }, t(`phase ${data.frames[2 * row].phase}`, `阶段 ${data.frames[2 * row].phase}`)),
          [0, 1].map((parity) => {
            const i = 2 * row + parity, f = data.frames[i];
            return h(`td.${i > k ? "later" : f.passes ? "passes" : "blocks"}${i === k ? ".here" : ""}`,
              { "data-passes": i > k ? null : f.passes },
              i > k ? "?" : f.passes ? t("✓ returns", "✓ 通过") : t("▮▮ blocks", "▮▮ 阻塞"));
          }))))))];
    },
  };

  // ---- the viewer

  const boxes = () => [...document.querySelectorAll("div.step[data-step]")];
  const hash_name = (name) => (boxes().length === 1 && !document.querySelector(".step-choice") ? "frame" : name);

  function position(name, frames) {
    const found = new RegExp(`[#&](?:${hash_name(name)})=(\\d+)`).exec(location.hash);
    return found ? Math.min(frames - 1, Number(found[1])) : null;
  }

  function mount(box, data) {
    if (data.kind === "choice") return mount_choice(box, data);
    const page = pages[data.kind];
    const frames = data.frames.length;
    let k = -1;
    if (page.prepare && !data.states) page.prepare(data);

    const button = (text, label, action, key) => h("button",
      { type: "button", "aria-label": label, title: key ? t(`${label} (${key})`, `${label}（${key}）`) : label, "data-action": action,
      onclick: () => act(action) }, text);
    const slider = h("input", { type: "range", min: 0, max: frames - 1, "aria-label": t("frame", "帧"),
      oninput: () => go(Number(slider.value)) });
    const count = h("output.step-count", null);
    const sentence = h("p.step-say", { "aria-live": "polite" });
    const view = h("div.step-view", null);
    const bar_of_buttons = h("div.step-controls", { role: "group", "aria-label": t("steps", "逐帧") },
      button("|←", t("first", "开头"), "first", "Home"), button("←", t("back", "后退"), "back", "←"),
      button("→", t("forward", "前进"), "on", "→"), button("→|", t("last", "末尾"), "last", "End"),
      data.kind === "run" ? button(t("next phase", "下一阶段"), t("to the next phase change", "到下一次阶段完成"), "phase", "p") : null,
      slider, count);
    box.replaceChildren(way_back(box), h("h2.step-title", null, page.title(data)), bar_of_buttons, sentence, view, data.kind === "run" ? help(data) : "");
    box.tabIndex = 0;
    box.lang = zh ? "zh" : "en";

    function go(to, keep) {
      const next = Math.max(0, Math.min(frames - 1, to));
      if (next === k) return;
      k = next;
      slider.value = k;
      count.textContent = t(`frame ${k + 1} of ${frames}`, `第 ${k + 1} 帧，共 ${frames} 帧`) + (data.frames[k].step !== undefined
        && data.kind === "run" ? t(`, model step ${data.frames[k].step}`, `，模型步 ${data.frames[k].step}`) : "");
      sentence.textContent = page.say(data, k);
      view.replaceChildren(...page.view(data, k).flat(9).filter(Boolean));
      box.dataset.frame = k;
      if (!keep) history.replaceState(null, "", `#${hash_name(data.name)}=${k}`);
    }
    function act(action) {
      ({ first: () => go(0), back: () => go(k - 1), on: () => go(k + 1), last: () => go(frames - 1),
        phase: () => go(k + 1 + [...data.frames.slice(k + 1), {}].findIndex((one) => !one.say || one.say.some((fact) => fact.f === "complete"))) })[action]();
    }
    const keys = { ArrowLeft: "back", ArrowRight: "on", Home: "first", End: "last" };
    if (data.kind === "run") keys.p = "phase";
    // A page of its own has no other use for the keys; on a lesson they scroll, but for who has chosen the viewer.
    const listens = document.body.classList.contains("steps-page") && boxes().length === 1 ? document : box;
    listens.addEventListener("keydown", (event) => {
      const at = event.target;
      if (!keys[event.key] || !box.isConnected || event.ctrlKey || event.altKey || event.metaKey
        || (at.matches && at.matches("input, pre, textarea, select"))) return;
      event.preventDefault();
      act(keys[event.key]);
    });
    window.addEventListener("hashchange", () => box.isConnected && go(position(data.name, frames) ?? k, true));
    link_frames(box, data.name);
    go(position(data.name, frames) ?? 0, true);
  }

  // A lesson may list frames in the first column of a table that follows the viewer: each number becomes a link to its frame.
  function link_frames(box, name) {
    const follows = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
    const next = boxes().find((other) => follows(box, other));
    const table = [...document.querySelectorAll("table")].find((one) => follows(box, one) && (!next || follows(one, next)));
    const head = table && table.querySelector("th");
    if (!head || head.textContent.trim() !== t("frame", "帧")) return;
    const link = (text) => (/^\d+$/.test(text) ? h("a", { href: `#${hash_name(name)}=${text - 1}`, onclick: () => box.scrollIntoView() }, text) : text);
    for (const cell of table.querySelectorAll("tbody td:first-child")) {
      cell.replaceChildren(...cell.textContent.split(/(\d+)/).filter(Boolean).map(link));
    }
  }

  const wanted = new Map(), known = new Map();
  window.steps_data = (name, data) => {
    known.set(name, data);
    for (const box of wanted.get(name) || []) mount(box, data);
    wanted.delete(name);
  };

  function begin() {
    for (const box of boxes().filter((one) => !one.dataset.asked)) {
      const name = box.dataset.step;
      box.dataset.asked = name;
      if (known.has(name)) {
        mount(box, known.get(name));
        continue;
      }
      if (wanted.has(name)) {
        wanted.get(name).push(box);
        continue;
      }
      wanted.set(name, [box]);
      const missing = () => box.replaceChildren(t(`The data of "${name}" is missing: make steps writes it.`,
        `没有“${name}”的数据：要先运行 make steps。`));
      document.head.append(h("script", { src: `${here}${name}.js`, onerror: missing }));
    }
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
