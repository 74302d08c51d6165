// Runs one test of the web-platform-tests: its scripts come as JSON, its results go back as JSON.

import { run } from "./run.js";

export default {
  async fetch(request) {
    return Response.json(await run(await request.json()));
  },
};
