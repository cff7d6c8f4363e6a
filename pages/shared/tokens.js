// The token strip and its legend. Called on the first draw and again whenever the data or the theme change.
// All text is written through textContent or setAttribute; nothing from the data is ever parsed as markup.

const RAISES = [43, 108, 176];
const LOWERS = [200, 100, 27];
const NEUTRAL = { light: [242, 242, 242], dark: [42, 46, 53] };
const BLACK = [0, 0, 0];
const WHITE = [255, 255, 255];
const READABLE = 4.5; // WCAG AA contrast of text

const strips = new WeakMap(); // element → what it shows

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".token-strip");
  if (!root || !data) return;
  const theme = readTheme(root);
  const version = [data.version, ...Object.values(theme)].join();
  root.style.setProperty("--quiet", css(theme.quiet));
  if (data.kind === "legend") {
    root.replaceChildren(drawLegend(data, theme));
    return;
  }
  let strip = strips.get(root);
  if (!strip || strip.version !== version) {
    strip = drawStrip(root, data, theme, strip);
    strip.version = version;
    strips.set(root, strip);
  }
  strip.choose = (token) => setTriggerValue("chosen", token);
  select(strip, strip.entries.findIndex((entry) => covers(entry, data.selected)));
}

const covers = (entry, token) => token !== null && entry.token <= token && token < entry.token + entry.count;

// --- colours

function readTheme(root) {
  const style = getComputedStyle(root);
  const paper = rgb(style.caretColor);
  const ink = rgb(style.color);
  const dark = luminance(paper) < 0.2;
  return { paper, ink, neutral: dark ? NEUTRAL.dark : NEUTRAL.light, quiet: mix(paper, ink, 0.7) };
}

const rgb = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
const css = (colour) => `rgb(${colour.map(Math.round).join(" ")})`;
const mix = (from, to, share) => from.map((value, channel) => value + (to[channel] - value) * share);

function luminance(colour) {
  const [r, g, b] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

// The theme's own text colour where it can be read, else black or white, one of which always can.
function inkOn(background, theme) {
  if (contrast(theme.ink, background) >= READABLE) return theme.ink;
  return contrast(BLACK, background) > contrast(WHITE, background) ? BLACK : WHITE;
}

function background(score, scale, theme) {
  if (!(scale > 0)) return theme.neutral;
  return mix(theme.neutral, score < 0 ? LOWERS : RAISES, Math.min(1, Math.abs(score) / scale));
}

function paint(element, colour, theme) {
  const ink = inkOn(colour, theme);
  element.style.setProperty("--cell", css(colour));
  element.style.setProperty("--ink", css(ink));
  // Hatching moves the background away from the text's colour, so that it stays readable.
  element.style.setProperty("--hatch", css(mix(colour, luminance(ink) > 0.4 ? BLACK : WHITE, 0.3)));
}

// --- drawing

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function drawStrip(root, data, theme, former) {
  const focused = former && former.cells.indexOf(document.activeElement);
  const scrolled = former ? former.box.scrollTop : 0;
  const ranked = (data.ranks ?? []).filter((rank) => rank !== null).length;
  const strip = { data, ranked, cells: [], entries: [], active: 0, selected: -1, choose: () => {} };
  const box = make("div", "tokens");
  for (const line of data.lines) box.append(drawLine(line, strip, theme));
  if (strip.cells.length) {
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", data.label);
  } else {
    box.append(make("span", "empty", "no tokens"));
  }
  strip.box = box;
  strip.tip = make("div", "tip");
  strip.tip.popover = "manual";
  strip.tip.setAttribute("aria-hidden", "true"); // each cell's label says the same
  listen(strip);
  root.replaceChildren(box, strip.tip);
  box.scrollTop = scrolled;
  if (focused >= 0 && focused < strip.cells.length) {
    setActive(strip, focused);
    strip.cells[focused].focus({ preventScroll: true });
  }
  return strip;
}

function drawLine(line, strip, theme) {
  const element = make("div", "line");
  element.setAttribute("role", "presentation");
  element.dir = line.rtl ? "rtl" : "ltr";
  const base = line.rtl ? 1 : 0;
  const open = [element]; // the line, and inside it the runs of higher levels
  line.cells.forEach((entry, place) => {
    const depth = (entry.level ?? 0) - base + 1;
    open.length = Math.min(open.length, depth);
    while (open.length < depth) {
      const run = make("span", "run");
      run.setAttribute("role", "presentation");
      run.dir = (base + open.length) % 2 ? "rtl" : "ltr";
      open.at(-1).append(run);
      open.push(run);
    }
    if (place && /^\s/.test(entry.text)) open.at(-1).append(make("wbr"));
    if (entry.marker) {
      const marker = make("span", "marker", entry.marker);
      marker.setAttribute("aria-hidden", "true");
      open.at(-1).append(marker);
    }
    open.at(-1).append(drawCell(entry, strip, theme));
  });
  return element;
}

function drawCell(entry, strip, theme) {
  const { data } = strip;
  const index = strip.cells.length;
  const cell = make("span", "cell");
  cell.dir = "auto";
  cell.tabIndex = index ? -1 : 0;
  cell.dataset.text = entry.text;
  cell.dataset.token = entry.token;
  cell.dataset.index = index;
  cell.setAttribute("role", "option");
  cell.setAttribute("aria-selected", "false");
  if (entry.locked) cell.setAttribute("aria-disabled", "true");

  const score = data.scores ? data.scores[index] : null;
  const greyed = data.greyed[index];
  const flags = {
    blank: !/\S/.test(entry.text) && !entry.name,
    control: entry.control,
    locked: entry.locked,
    greyed,
    failed: data.scores && score === null && !greyed,
    hatched: data.hatched && score !== null && !greyed,
    protected: entry.protected,
  };
  for (const [name, on] of Object.entries(flags)) if (on) cell.classList.add(name);
  paint(cell, score === null || greyed ? theme.neutral : background(score, data.scale, theme), theme);
  if (greyed || flags.failed) cell.style.setProperty("--ink", css(theme.quiet));

  const parts = entry.parts ?? [[entry.text, entry.text]];
  if (entry.name !== undefined) cell.append(drawPart("", entry.name));
  parts.forEach(([raw, shown, mark], place) => {
    // The line that a line break ends is a block already; inside a cell the break is drawn.
    const breaks = raw.endsWith("\n") && place < parts.length - 1;
    cell.append(drawPart(raw, breaks ? `${shown}\n` : shown, mark));
  });
  strip.cells.push(cell);
  strip.entries.push(entry);
  const { name, scores, notes } = describe(strip, index);
  cell.setAttribute("aria-label", [name, ...scores, positions(entry), ...notes].join(", "));
  return cell;
}

function drawPart(raw, shown, mark) {
  if (raw === shown && !mark) return document.createTextNode(raw);
  const part = make("span", mark === "missing" ? "" : shown.startsWith("⟨") ? "point" : "", mark === "missing" ? "" : shown);
  if (mark) part.classList.add(mark);
  if (raw !== shown) part.dataset.raw = raw;
  return part;
}

function drawLegend(data, theme) {
  const legend = make("div", "legend");
  const [negative, positive] = data.labels;
  const scale = make("div", "scale");
  const bar = make("div", "bar");
  const from = data.magnitude ? 0 : -1;
  const stops = Array.from({ length: 9 }, (_, step) => css(background(from + ((1 - from) * step) / 8, 1, theme)));
  bar.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
  const ends = make("div", "ends");
  const full = number(data.scale);
  const ticks = data.magnitude ? ["0", `${full} ${data.unit}`] : [`−${full}`, "0", `+${full} ${data.unit}`];
  ends.append(...ticks.map((tick) => make("span", "", tick)));
  if (data.magnitude) scale.classList.add("magnitude");
  scale.append(...(data.magnitude ? [] : [make("span", "", negative)]), bar, make("span", "", positive), ends);
  legend.append(scale);
  for (const [kind, words] of data.notes) {
    const note = make("span", "note");
    const sample = make("span", `cell sample ${["added", "missing"].includes(kind) ? "" : kind}`);
    paint(sample, kind === "hatched" ? background(-0.5, 1, theme) : theme.neutral, theme);
    if (kind === "greyed") sample.style.setProperty("--ink", css(theme.quiet));
    sample.setAttribute("aria-hidden", "true");
    if (kind === "added") sample.append(drawPart("ab", "ab", "added"));
    else if (kind === "missing") sample.append("a", drawPart("", "", "missing"), "b");
    else sample.append("ab");
    note.append(sample, make("span", "", words));
    legend.append(note);
  }
  return legend;
}

// --- words

function number(value) {
  const size = Math.abs(value);
  return size === 0 || (size >= 0.01 && size < 1000) ? size.toFixed(size < 0.1 ? 3 : 2) : size.toExponential(1);
}

const BLANK_NAMES = { " ": "space", "\n": "newline", "\t": "tab" };

// What a screen reader can read of the text; what it cannot is named with the details.
function spoken(entry) {
  if (entry.name !== undefined) return entry.name;
  const parts = entry.parts ?? [[entry.text, entry.text]];
  const text = parts.map(([raw, shown]) => (raw === shown || !raw.trim() ? raw : " ")).join("").trim();
  if (text) return text;
  const blanks = Array.from(entry.text, (blank) => BLANK_NAMES[blank]).filter(Boolean);
  return blanks.length ? blanks.join(", ") : "invisible";
}

// The cell in words: what it says, its score, whatever else there is to know.
function describe(strip, index) {
  const { data } = strip;
  const entry = strip.entries[index];
  const scores = [];
  if (data.scores) {
    const score = data.scores[index];
    const [negative, positive] = data.labels;
    if (score === null) scores.push("the score could not be computed");
    else if (score === 0) scores.push(`0 ${data.unit}`);
    else scores.push(`${score < 0 ? negative : positive} by ${number(score)} ${data.unit}`.trim());
    if (data.ranks[index]) scores.push(`rank ${data.ranks[index]} of ${strip.ranked}`);
    if (data.hatched) scores.push("not converged");
  }
  if (data.greyed[index]) scores.push("left out of the colours");
  return { name: spoken(entry), scores, notes: notes(entry) };
}

function notes(entry) {
  const found = [...(entry.unseen ?? [])];
  const parts = entry.parts ?? [];
  if (parts.some((part) => part[2] === "added")) found.push("differs from the reference");
  for (const [, missing, mark] of parts) if (mark === "missing") found.push(`missing here: “${missing}”`);
  if (entry.control) found.push("control token");
  if (entry.protected) found.push("protected");
  if (entry.role === "added") found.push("added by the tokenizer");
  else if (entry.role) found.push(entry.locked ? `${entry.role}, locked` : entry.role);
  return found;
}

function positions(entry) {
  if (!entry.count) return "the tokenizer made no token of this";
  return entry.count === 1 ? `token ${entry.token}` : `tokens ${entry.token} to ${entry.token + entry.count - 1}`;
}

function ids(entry) {
  if (entry.count === 1) return `id ${entry.ids[0]}`;
  const pairs = entry.ids.map((id, place) => `${id} “${entry.pieces[place]}”`);
  const more = entry.count - pairs.length;
  return `ids ${pairs.join(", ")}${more ? ` and ${more} more` : ""}`;
}

// --- behaviour

function listen(strip) {
  const { box } = strip;
  const at = (event) => strip.cells.indexOf(event.target.closest?.(".cell"));
  box.addEventListener("pointerover", (event) => showTip(strip, at(event), event));
  box.addEventListener("pointerleave", () => hideTip(strip));
  box.addEventListener("scroll", () => {
    const focused = box.querySelector(".cell:focus-visible"); // the focus itself may have scrolled here
    if (focused) showTip(strip, strip.cells.indexOf(focused));
    else hideTip(strip);
  });
  box.addEventListener("focusin", (event) => {
    setActive(strip, at(event));
    if (event.target.matches(":focus-visible")) showTip(strip, at(event));
  });
  box.addEventListener("focusout", () => hideTip(strip));
  box.addEventListener("click", (event) => {
    const selection = document.getSelection();
    const dragged = selection && !selection.isCollapsed && box.contains(selection.anchorNode);
    if (at(event) >= 0 && !dragged) toggle(strip, at(event));
  });
  box.addEventListener("keydown", (event) => pressed(strip, event));
  box.addEventListener("copy", (event) => {
    const text = selectedText(box);
    if (text === null) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  });
}

function pressed(strip, event) {
  const index = strip.cells.indexOf(event.target);
  if (index < 0) return;
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key.toLowerCase() === "a") {
    document.getSelection().selectAllChildren(strip.box);
  } else if (command || event.altKey) {
    return;
  } else if (event.key === "Enter" || event.key === " ") {
    toggle(strip, index);
  } else if (event.key === "Escape") {
    hideTip(strip);
    if (strip.selected >= 0) toggle(strip, strip.selected);
  } else {
    const next = neighbour(strip, index, event.key);
    if (next === undefined) return;
    setActive(strip, next);
    strip.cells[next].focus();
  }
  event.preventDefault();
  event.stopPropagation();
}

function neighbour(strip, index, key) {
  const last = strip.cells.length - 1;
  const rtl = getComputedStyle(strip.cells[index].parentElement).direction === "rtl";
  const step = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1 }[key];
  if (step) return Math.max(0, Math.min(last, index + step));
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "ArrowDown" || key === "ArrowUp") return above(strip, index, key === "ArrowUp" ? -1 : 1);
  return undefined;
}

// The cell of the next row on the screen that is nearest to the middle of this one.
function above(strip, index, step) {
  const here = strip.cells[index].getBoundingClientRect();
  const middle = here.left + here.width / 2;
  let best = index;
  let row = null;
  let least = Infinity;
  for (let place = index + step; place >= 0 && place < strip.cells.length; place += step) {
    const there = strip.cells[place].getBoundingClientRect();
    if (Math.abs(there.top - here.top) < there.height / 2) continue;
    row ??= there.top;
    if (Math.abs(there.top - row) >= there.height / 2) break;
    const distance = Math.abs(there.left + there.width / 2 - middle);
    if (distance < least) [best, least] = [place, distance];
  }
  return best;
}

function setActive(strip, index) {
  if (index < 0) return;
  strip.cells[strip.active].tabIndex = -1;
  strip.active = index;
  strip.cells[index].tabIndex = 0;
}

function select(strip, index) {
  if (strip.selected === index) return;
  strip.cells[strip.selected]?.setAttribute("aria-selected", "false");
  strip.selected = index;
  strip.cells[index]?.setAttribute("aria-selected", "true");
  if (!strip.box.contains(document.activeElement)) setActive(strip, index);
}

// Choosing the selected token again clears the choice.
function toggle(strip, index) {
  const entry = strip.entries[index];
  if (entry.locked || !entry.count) return;
  const chosen = strip.selected === index ? -1 : index;
  select(strip, chosen);
  strip.choose(chosen < 0 ? -1 : entry.token);
}

let tipped = null; // the one strip whose tooltip is shown

function showTip(strip, index, pointer) {
  if (tipped && (tipped !== strip || index < 0)) hideTip(tipped);
  if (index < 0) return;
  tipped = strip;
  const { tip } = strip;
  const entry = strip.entries[index];
  const { name, scores, notes } = describe(strip, index);
  tip.replaceChildren(
    make("div", "title", strip.cells[index].textContent || name),
    ...scores.map((line, place) => make("div", place ? "quiet" : "score", line)),
    make("div", "quiet", entry.count ? `${positions(entry)}, ${ids(entry)}` : positions(entry)),
    ...notes.map((line) => make("div", "quiet", line)),
  );
  for (const line of tip.children) line.dir = "auto";
  tip.showPopover();
  // A cell over several rows has several boxes: the one under the pointer, else the first.
  const boxes = Array.from(strip.cells[index].getClientRects());
  const under = pointer && boxes.find((box) => box.top <= pointer.clientY && pointer.clientY <= box.bottom);
  const box = under ?? boxes[0];
  const size = tip.getBoundingClientRect();
  const below = box.bottom + 6;
  const top = below + size.height > innerHeight - 8 ? Math.max(8, box.top - size.height - 6) : below;
  tip.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${top}px`;
}

function hideTip(strip) {
  if (strip.tip.matches(":popover-open")) strip.tip.hidePopover();
}

// The prompt's own text under the selection, not the signs that stand for it; null if it reaches out of the strip.
function selectedText(box) {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  if (!box.contains(range.commonAncestorContainer)) return null;
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let text = "";
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!range.intersectsNode(node) || !holder.closest(".cell")) continue;
    const start = node === range.startContainer ? range.startOffset : 0;
    const end = node === range.endContainer ? range.endOffset : node.length;
    if (start < end) text += holder.dataset.raw ?? node.data.slice(start, end);
  }
  return text;
}
