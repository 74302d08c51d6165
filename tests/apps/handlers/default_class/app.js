export default class {
  #greeting = "class";

  async fetch(request, env) {
    return new Response(`${this.#greeting} ${env.NAME}`);
  }
}
