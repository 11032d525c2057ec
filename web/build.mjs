// build.mjs [--check]: build dist/report.html, the one file that goes into atomsan, from src/.
// With --check it writes nothing, and exits with 1 if the committed file differs.
import { build } from "esbuild";
import { readFileSync, writeFileSync, mkdirSync } from "node:fs";

const here = new URL(".", import.meta.url);
const read = (name) => readFileSync(new URL(name, here), "utf8");

async function bundle(entry, extra) {
  const out = await build({
    entryPoints: [new URL(entry, here).pathname],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    target: ["chrome100", "firefox100", "safari15"],
    ...extra,
  });
  return out.outputFiles[0].text.trim();
}

const script = await bundle("src/main.js", { format: "iife" });
const style = await bundle("src/style.css", {});
if (/<\/(script|style)/i.test(script + style)) throw new Error("the code would end its own element");
// Replacement by a function, because '$' is special in a replacement string.
const page = read("src/page.html")
  .replace("@STYLE@", () => style)
  .replace("@SCRIPT@", () => script);
if (page.split("@ATOMSAN-DATA@").length !== 2) throw new Error("the page needs its place for data once");

if (process.argv.includes("--check")) {
  let committed = "";
  try {
    committed = read("dist/report.html");
  } catch {}
  if (committed !== page) {
    console.error("web/dist/report.html is not what web/src builds: run 'npm run build' in web/");
    process.exit(1);
  }
  console.log(`web/dist/report.html is up to date, ${page.length} bytes`);
} else {
  mkdirSync(new URL("dist/", here), { recursive: true });
  writeFileSync(new URL("dist/report.html", here), page);
  console.log(`web/dist/report.html: ${page.length} bytes`);
}
