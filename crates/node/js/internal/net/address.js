"use strict";
// IP addresses as text: isIP and its kin, and what BlockList compares.

const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const V6_PART = /^[0-9a-fA-F]{1,4}$/;

function isIPv4(input) {
  return V4.test(`${input}`);
}

/** Eight groups, or fewer around one `::`; the last two may be an IPv4 address; a zone may follow. */
function isIPv6(input) {
  return groupsOf(`${input}`) !== undefined;
}

function isIP(input) {
  if (isIPv4(input)) return 4;
  return isIPv6(input) ? 6 : 0;
}

/** The eight numbers of an IPv6 address; undefined where it is none. */
function groupsOf(text) {
  const zone = text.indexOf("%");
  if (zone >= 0) {
    if (!/^%[0-9a-zA-Z\-.:]+$/.test(text.slice(zone))) return undefined;
    text = text.slice(0, zone);
  }
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const parts = halves.map((half) => (half === "" ? [] : half.split(":")));
  const numbers = [];
  for (let i = 0; i < parts.length; i++) {
    const half = [];
    for (let j = 0; j < parts[i].length; j++) {
      const part = parts[i][j];
      if (V6_PART.test(part)) {
        half.push(parseInt(part, 16));
      } else if (i === parts.length - 1 && j === parts[i].length - 1 && V4.test(part)) {
        const bytes = part.split(".").map(Number);
        half.push(bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]);
      } else {
        return undefined;
      }
    }
    numbers.push(half);
  }
  if (numbers.length === 1) return numbers[0].length === 8 ? numbers[0] : undefined;
  const missing = 8 - numbers[0].length - numbers[1].length;
  if (missing < 1) return undefined;
  return [...numbers[0], ...new Array(missing).fill(0), ...numbers[1]];
}

/** The address as a number, and how many bits it has. An IPv4 address in an IPv6 one is an IPv4 address. */
function valueOf(address, family) {
  if (family === 4) {
    return { bits: 32, value: BigInt(address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0)) };
  }
  const groups = groupsOf(address);
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return { bits: 32, value: BigInt(groups[6] * 65536 + groups[7]) };
  return { bits: 128, value: groups.reduce((sum, group) => sum << 16n | BigInt(group), 0n) };
}

/** Whether a connection to this host stays on the machine: it may be one of the worker's own servers. */
function isLoopback(host) {
  const text = host.toLowerCase();
  return text === "localhost" || text === "::1" || text === "::" || text === "0.0.0.0" || (text.startsWith("127.") && isIPv4(text))
    || text === "::ffff:127.0.0.1";
}

module.exports = { isIP, isIPv4, isIPv6, isLoopback, valueOf };
