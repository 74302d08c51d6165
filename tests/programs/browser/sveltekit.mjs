// The app of ../sveltekit/, rendered by the server and taken over by the browser.

import assert from "node:assert/strict";
import { counts, isStyled, look } from "./browser.mjs";

await look(async (page, url) => {
  const heading = (name) => page.getByRole("heading", { level: 1, name }).waitFor();

  await page.goto(url);
  await heading("Hello from the manifest, stranger");
  assert.equal(await page.title(), "SvelteKit on Hearth");
  await isStyled(page);
  await counts(page);

  // A form, sent without leaving the page.
  await page.evaluate(() => (window.stayed = true));
  const title = `Look at ${url}`;
  await page.getByRole("textbox", { name: "Title" }).fill(title);
  await page.getByRole("button", { name: "Add" }).click();
  await page.getByRole("status").filter({ hasText: `Added ${title}` }).waitFor();
  await page.getByRole("listitem").filter({ hasText: title }).waitFor();

  // Another page, and back with the server's data.
  await page.getByRole("link", { name: "About" }).click();
  await heading("About");
  assert.equal(page.url(), `${url}about/`);
  await page.getByRole("link", { name: "Todos" }).click();
  await heading("Hello from the manifest, stranger");
  await counts(page);
  assert.ok(await page.evaluate(() => window.stayed), "the page was loaded again");

  // And by its address.
  await page.goto(`${url}about/`);
  await heading("About");
  await page.goto(`${url}later`);
  await page.getByText("came later").waitFor();
});
