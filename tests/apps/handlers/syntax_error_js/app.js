export default { fetch() { return new Response("never"); } };

const twice = 1;
const twice = 2;
