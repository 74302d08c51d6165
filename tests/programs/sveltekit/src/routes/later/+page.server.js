/** A promise is sent after the page, on the same stream. */
export function load() {
  return { later: new Promise((done) => setTimeout(done, 10, "came later")) };
}
