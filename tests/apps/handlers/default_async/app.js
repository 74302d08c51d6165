export default {
  async fetch() {
    await null;
    return new Response("async");
  },
};
