const primes = []
for (let next = 2; primes.length < 64; next++) if (primes.every(prime => next % prime)) primes.push(next)
/** The first 32 bits of the fractions of their roots. */
const fractions = root => primes.map(prime => root(prime) % 1 * 2 ** 32 | 0)

/** The first 8 bytes of SHA-256 (FIPS 180-4) of at most 55 bytes, for pages that have no `crypto.subtle`. */
export const sha256 = bytes => {
  const turn = (word, bits) => word >>> bits | word << 32 - bits
  const words = new Int32Array(64), begin = fractions(Math.sqrt), step = fractions(Math.cbrt)
  for (const [index, byte] of [...bytes, 0x80].entries()) words[index >> 2] |= byte << 24 - index % 4 * 8
  words[15] = bytes.length * 8
  let [a, b, c, d, e, f, g, h] = begin
  for (let t = 0; t < 64; t++) {
    if (t > 15) {
      const early = words[t - 15], late = words[t - 2]
      words[t] = words[t - 16] + (turn(early, 7) ^ turn(early, 18) ^ early >>> 3)
        + words[t - 7] + (turn(late, 17) ^ turn(late, 19) ^ late >>> 10)
    }
    const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (e & f ^ ~e & g) + step[t] + words[t]
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + (a & b ^ a & c ^ b & c);
    [a, b, c, d, e, f, g, h] = [first + second | 0, a, b, c, d + first | 0, e, f, g]
  }
  return [a + begin[0], b + begin[1]].flatMap(word => [24, 16, 8, 0].map(bits => word >> bits & 255))
}
