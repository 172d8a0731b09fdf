// What scripts/pages does in the browser.
"use strict";
const assert = require("node:assert");
const { chromium } = require("playwright-core");
const out = process.argv[2];

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  const errors = [];
  const open = async (name, scheme) => {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1100 }, colorScheme: scheme });
    page.on("pageerror", (e) => errors.push(`${name}: ${e}`));
    page.on("request", (r) => { if (!r.url().startsWith("file:")) errors.push(`${name} asks for ${r.url()}`); });
    await page.goto(`file://${out}/${name}.html`);
    return page;
  };
  const stages = ["core", "bulk", "delta", "gradient", "optimised", "kernel"];

  const page = await open("parameters", "light");
  const lit = (stage) => page.locator(`.panel[data-stage="${stage}"] .line.lit`).count();
  // The last line of the source that computes something lights something at every stage.
  const sources = page.locator('.panel[data-stage="source"] .line');
  let found = false;
  for (let n = (await sources.count()) - 1; n >= 0 && !found; n--) {
    await sources.nth(n).hover();
    const counts = await Promise.all(stages.map(lit));
    found = counts.every((count) => count > 0);
  }
  assert(found, "no line of the source lights something at every stage");
  await page.screenshot({ path: `${out}/line.png` });

  // From a kernel back to the source.
  await page.locator('.panel[data-stage="kernel"] .line').first().hover();
  assert(await lit("source") > 0 && await lit("core") > 0, "a kernel comes from nowhere");

  // Keys: the next line, keep it, another tab, dark.
  await page.locator('.panel[data-stage="optimised"] .lines').focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.strictEqual(await page.locator('.panel[data-stage="optimised"] .line.at').count(), 1);
  assert.match(await page.textContent("#status"), /kept/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  assert(await page.evaluate(() => document.documentElement.classList.contains("dark")));
  await page.keyboard.press("2");
  assert(await page.locator('.panel[data-stage="core"]').isHidden());
  await page.keyboard.press("]");
  assert(await page.locator("#rules").isVisible() && await page.locator("#graph").isHidden());
  assert.match(await page.textContent("#rules"), /becomes/);
  await page.screenshot({ path: `${out}/rules.png` });
  await page.keyboard.press("p");
  await page.screenshot({ path: `${out}/profile.png` });

  // A large graph is folded by lines; unfolded no boxes overlap.
  const large = await open("large", "dark");
  const boxes = () => large.locator("#graph .node").evaluateAll((all) => all.map((g) => {
    const { x, y, width, height } = g.getBoundingClientRect();
    return { x, y, width, height };
  }));
  const folded = (await boxes()).length;
  await large.screenshot({ path: `${out}/folded.png` });
  const begin = Date.now();
  await large.keyboard.press("c");
  const all = await boxes();
  assert(all.length > 200 && folded < all.length, `${folded} boxes, then ${all.length}`);
  assert(Date.now() - begin < 3000, "laying out takes too long");
  for (let a = 0; a < all.length; a++) for (let b = a + 1; b < all.length; b++) {
    const [p, q] = [all[a], all[b]];
    const apart = p.x + p.width <= q.x + 1 || q.x + q.width <= p.x + 1 || p.y + p.height <= q.y + 1 || q.y + q.height <= p.y + 1;
    assert(apart, "two boxes of the graph overlap");
  }
  await large.screenshot({ path: `${out}/large.png`, fullPage: true });
  await browser.close();
  assert.deepStrictEqual(errors, []);
  console.log(`pages: all is well; pictures are in ${out}`);
})().catch((error) => { console.error(error); process.exit(1); });
