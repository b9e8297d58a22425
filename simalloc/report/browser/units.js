"use strict";
/* Formats numbers, bytes and events, and chooses the ticks of axes. */

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const digits = (value) => value.toLocaleString("en", { maximumSignificantDigits: 3 });
const whole = (value) => Math.round(value).toLocaleString("en");

function digitsOf(value) {
  return Number(value.toPrecision(2));
}

/* Spells bytes with a unit, precisely enough to distinguish numbers that differ by `step`. */
function bytes(value, step) {
  const units = [[2 ** 60, "EiB"], [2 ** 50, "PiB"], [2 ** 40, "TiB"],
    [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const [size, name] = units.find(([size]) => Math.abs(value) >= size) ?? [1, "B"];
  return value === 0 ? "0" : `${step ? apart(value / size, step / size) : digits(value / size)} ${name}`;
}

function events(value, step) {
  const units = [[1e9, " G"], [1e6, " M"], [1e3, " k"]];
  const [size, name] = units.find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  return (step ? apart(value / size, step / size) :
    (value / size).toLocaleString("en", { maximumSignificantDigits: 4 })) + name;
}

/* Spells a number to a tenth of `step`. */
function apart(value, step) {
  const decimals = clamp(Math.ceil(1 - Math.log10(step)), 0, 20);
  return value.toLocaleString("en", { maximumFractionDigits: decimals });
}

function rgb(text) {
  const value = parseInt(text.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/* Returns about `count` round numbers from low to high; `binary` makes them multiples of a power of two. */
function ticks(low, high, count, binary) {
  const step = (high - low) / count;
  const unit = binary ? 2 ** Math.ceil(Math.log2(step)) : 10 ** Math.floor(Math.log10(step));
  const size = Math.max(1, binary ? unit : unit * [1, 2, 5, 10].find((times) => unit * times >= step));
  const marks = [];
  for (let mark = Math.ceil(low / size) * size; mark <= high; mark += size) marks.push(mark);
  return marks;
}

/* Decodes bytes from base 64 and deflate. */
async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}
