// Conversion between code points, in which offsets are sent, and UTF-16 units, which browsers use.

// The code points of a text with both kinds of offsets. A unit inside a surrogate pair belongs to its code point.
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

// Words as [start, end) in code points, between which the cursor moves. In scripts without spaces, the browser's segmenter
// splits runs of letters if available. Between two words there is only white space.
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

// A selection without white space at its ends, extended to complete characters; null if it is empty.
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

// Splits [0, length) at the ends of ranges into [start, end, indexes of the covering ranges], in order.
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
