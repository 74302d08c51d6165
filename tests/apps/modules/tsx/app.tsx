/** @jsxRuntime classic */
/** @jsx element */
/** @jsxFrag Fragment */
import { Fragment, element } from "./element.ts";

const Greeting = ({ name }: { name: string }) => <b class="name">Hello {name}!</b>;

export default {
  fetch(request: Request): Response {
    const name = new URL(request.url).pathname.slice(1);
    const page = <><Greeting name={name} /><ul>{[1, 2].map((n) => <li>{n}</li>)}</ul></>;
    return new Response(`${page}`, { headers: { "content-type": "text/html" } });
  },
};
