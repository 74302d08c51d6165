// Whether the server answers. `lost` means that the last call got no response at all. Polls go on, and the first response resets it.

class Connection extends EventTarget {
  #state = "live";

  get state() {
    return this.#state;
  }

  /** `live` or `lost`. */
  set state(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.dispatchEvent(new Event("change"));
  }
}

export const connection = new Connection();
