export default {
  greeting: "this is kept",
  fetch() {
    return new Response(this.greeting);
  },
};
