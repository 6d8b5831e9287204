// Texts by key in the campaign's language, with plurals, numbers and text direction.
import language from "./language.js";

export const { code, direction } = language;
const { strings } = language;
const plurals = new Intl.PluralRules(code);
const numbers = new Intl.NumberFormat(code);
const lists = new Intl.ListFormat(code, { type: "unit", style: "short" });

// Returns the text of a key with {name} replaced by values. A text with plural forms uses the form for `n`.
export const t = (key, values) => rich(key, values).join("");

// The same as a list of texts and nodes, so that values can be nodes.
export function rich(key, values = {}) {
  return form(key, values.n).split(/\{(\w+)\}/).map((part, at) => (at % 2 ? shown(key, part, values[part]) : part)).filter((part) => part !== "");
}

function form(key, n) {
  const entry = strings[key];
  if (entry === undefined) throw new Error(`${code}: there is no text ${key}`);
  // A language file may omit categories that integers do not need.
  return typeof entry === "string" ? entry : (entry[plurals.select(n)] ?? entry.other);
}

function shown(key, name, value) {
  if (value === undefined || value === null) throw new Error(`${code}: the text ${key} lacks {${name}}`);
  if (typeof value === "number") return number(value);
  return value instanceof Node ? value : isolated(value);
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const LEFT_TO_RIGHT = /\p{Script=Latin}|\p{Script=Greek}|\p{Script=Cyrillic}/u;

// Isolates text of the other direction from its surroundings.
function isolated(text) {
  return (direction === "rtl" ? LEFT_TO_RIGHT : RIGHT_TO_LEFT).test(text) ? `\u2068${text}\u2069` : text;
}

export const number = (value) => numbers.format(value);
export const list = (parts) => lists.format(parts);

export const minutes = (seconds) => t("page.minutes", { n: Math.max(0, Math.ceil(seconds / 60)) });

export function money(amount, currency, locale = code) {
  try {
    return new Intl.NumberFormat(locale, { style: "currency", currency }).format(amount);
  } catch (error) {
    return `${amount.toFixed(2)} ${currency}`;
  }
}

// The message for a refusal. Errors that only a bug can cause keep the server's message.
export function refusal(error) {
  const key = `refused.${error.code}`;
  if (error.code !== "invalid" && error.code !== "other" && strings[key] !== undefined) return t(key);
  const detail = error.field ? `${error.field}: ${error.message}` : error.message;
  return t(error.code === "invalid" ? key : "refused.other", { detail });
}

// Arrow that points to the beginning of a line.
export const backwards = direction === "rtl" ? "→" : "←";
