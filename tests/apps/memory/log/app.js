export default {
  fetch() {
    for (let i = 0; i < 500; i++) console.log("a line of the flood");
    return new Response("fine");
  },
};
