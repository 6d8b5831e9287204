// Offsets on the wire count code points; the browser counts UTF-16 units. Everything that turns one into the other is here.

// Code points of a text, and the way between the two ways to count. A unit inside a surrogate pair belongs to its code point.
export class Points {
  constructor(text) {
    this.text = text;
    this.units = [0];
    for (const point of text) this.units.push(this.units[this.units.length - 1] + point.length);
  }

  get length() {
    return this.units.length - 1;
  }

  toUnit(point) {
    return this.units[Math.min(Math.max(point, 0), this.length)];
  }

  toPoint(unit) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.units[middle] <= unit) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  slice(start, end) {
    return this.text.slice(this.toUnit(start), this.toUnit(end));
  }
}

const LETTERS = /[\p{L}\p{N}\p{M}]+(?:['’\-.,][\p{L}\p{N}\p{M}]+)*|\p{Extended_Pictographic}(?:\u200d\p{Extended_Pictographic}|[\u{1f3fb}-\u{1f3ff}\ufe0f])*|[^\s]/gu;

// Words as [start, end) in code points: what the cursor steps over. Runs of letters in scripts that put no spaces between
// words are cut by the browser's own segmenter where it has one. Nothing but white space lies between two words.
export function wordsOf(text, language = "en") {
  const points = new Points(text);
  const found = [];
  for (const match of text.matchAll(LETTERS)) {
    for (const [from, to] of cut(match[0], language)) {
      found.push([points.toPoint(match.index + from), points.toPoint(match.index + to)]);
    }
  }
  return found;
}

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

function cut(run, language) {
  if (!SPACELESS.test(run) || !globalThis.Intl?.Segmenter) return [[0, run.length]];
  const parts = [...new Intl.Segmenter(language, { granularity: "word" }).segment(run)];
  return parts.map((part) => [part.index, part.index + part.segment.length]);
}

// A selection without the white space at its ends, and never half of a character people see as one; null where nothing is left.
export function tidy(text, start, end, language = "en") {
  const points = new Points(text);
  let [from, to] = [points.toUnit(start), points.toUnit(end)];
  while (from < to && /\s/u.test(text[from])) from += 1;
  while (to > from && /\s/u.test(text[to - 1])) to -= 1;
  if (from >= to) return null;
  if (globalThis.Intl?.Segmenter) {
    for (const { index, segment } of new Intl.Segmenter(language, { granularity: "grapheme" }).segment(text)) {
      const last = index + segment.length;
      if (index < from && from < last) from = index;
      if (index < to && to < last) to = last;
    }
  }
  return [points.toPoint(from), points.toPoint(to)];
}

// Cuts [0, length) at the ends of ranges: [start, end, indexes of the ranges that cover it], in order, nothing left out.
export function pieces(length, ranges) {
  const ends = ranges.flatMap(([start, end]) => [start, end]).filter((at) => at > 0 && at < length);
  const cuts = [...new Set([0, ...ends, length])].sort((a, b) => a - b);
  const parts = [];
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const [from, to] = [cuts[at], cuts[at + 1]];
    const over = ranges.flatMap(([start, end], index) => (start <= from && to <= end ? [index] : []));
    parts.push([from, to, over]);
  }
  return parts;
}
