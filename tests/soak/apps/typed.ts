// TypeScript, and a class: one instance per worker.
import { answer, sleep } from "./common.js";

export default class {
  #served: number = 0;

  async fetch(request: Request): Promise<Response> {
    this.#served++;
    await sleep(this.#served % 3);
    return answer(request) as Response;
  }
}
