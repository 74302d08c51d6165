export default {
  fetch() {
    return new Response("sync");
  },
};
