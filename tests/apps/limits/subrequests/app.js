export default {
  async fetch(request, env) {
    let made = 0;
    try {
      for (; made < 1100; made++) await (await fetch(env.BACKEND)).text();
    } catch (error) {
      return new Response(`${made} then ${error.name}: ${error.message}`);
    }
    return new Response(`${made}`);
  },
};
