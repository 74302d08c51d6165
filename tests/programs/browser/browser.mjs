// A real browser that looks at a program wherever it is served: node PROGRAM.mjs URL…
//
// Chromium is that of the system (CHROMIUM names another). Nothing is asserted about how long something takes: what has
// to be there is waited for, for a minute.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const PATIENCE = 60_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Looks with `act(page, url)` at every address that the command names. What the browser complains about fails it. */
export async function look(act) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
    timeout: PATIENCE,
  });
  try {
    for (const url of process.argv.slice(2)) {
      console.log(`at ${url}`);
      await visit(browser, url, act);
    }
  } finally {
    await browser.close();
  }
}

async function visit(browser, url, act) {
  const complaints = [];
  // Certificates of tests are self-signed.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  page.on("pageerror", (error) => complaints.push(error.stack));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${message.text()} ${message.location().url}`);
  });
  // Every browser asks for it, and no program here has one.
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  try {
    await act(page, url);
  } catch (error) {
    console.error(await page.content().catch(() => "there is no page"));
    console.error(complaints.join("\n"));
    throw error;
  }
  assert.deepEqual(complaints, [], "the browser complained");
  await context.close();
}

/** The page has its style: a file that only the program names. */
export async function isStyled(page) {
  await page.waitForFunction(() => getComputedStyle(document.querySelector("h1")).color === "rgb(226, 88, 34)");
}

/** The page has its script: a button that counts. A click that came before the script is lost, so there may be more. */
export async function counts(page) {
  const counted = page.getByRole("button", { name: /^Clicked [1-9]/ });
  await page.getByRole("button", { name: "Clicked 0 times" }).waitFor();
  const deadline = Date.now() + PATIENCE;
  while ((await counted.count()) === 0) {
    assert.ok(Date.now() < deadline, "no click is counted");
    await page.getByRole("button", { name: /^Clicked/ }).click();
  }
}
