// Chromium, driven over a pipe by its own protocol: nothing to install but the browser itself.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const LIMIT = 20000; // milliseconds per answer

export class Browser {
  static async start() {
    const browser = new Browser();
    browser.profile = mkdtempSync(join(tmpdir(), "atomsan-browser-"));
    browser.process = spawn(
      process.env.CHROMIUM ?? "chromium",
      [
        "--headless=new",
        "--remote-debugging-pipe",
        `--user-data-dir=${browser.profile}`,
        "--no-sandbox", // tests may run as root, on pages of their own
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--hide-scrollbars",
        "--window-size=1500,1000",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    browser.waiting = new Map();
    browser.listeners = new Map();
    browser.next = 1;
    let text = "";
    const fail = (why) => {
      for (const { reject } of browser.waiting.values()) reject(new Error(why));
      browser.waiting.clear();
    };
    browser.process.on("error", (error) => fail(`chromium cannot be started: ${error.message}`));
    browser.process.on("exit", (code) => fail(`chromium ended with ${code}`));
    browser.process.stdio[4].on("data", (bytes) => {
      text += bytes.toString("utf8");
      for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) browser.take(JSON.parse(text.slice(0, end)));
    });
    return browser;
  }

  take(message) {
    if (!message.id) return this.listeners.get(message.sessionId)?.(message.method, message.params);
    const { resolve, reject, timer } = this.waiting.get(message.id) ?? {};
    clearTimeout(timer);
    this.waiting.delete(message.id);
    if (message.error) reject?.(new Error(message.error.message));
    else resolve?.(message.result);
  }

  send(method, params = {}, sessionId) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), LIMIT);
      this.waiting.set(id, { resolve, reject, timer });
      this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  async open(file, { dark = false, width = 1500, height = 1000 } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    this.listeners.set(sessionId, (method, params) => page.heard(method, params));
    for (const domain of ["Page", "Runtime", "Network", "Log", "DOM", "Accessibility"]) await page.send(domain + ".enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.media({ dark });
    await page.send("Page.navigate", { url: "file://" + file });
    await page.until("document.documentElement?.dataset.ready === 'yes'");
    return page;
  }

  stop() {
    return new Promise((resolve) => {
      this.process.removeAllListeners("exit");
      this.process.on("exit", () => {
        rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
        resolve();
      });
      this.process.kill("SIGKILL");
    });
  }
}

class Page {
  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId, complaints: [], requests: [] });
  }

  heard(method, params) {
    if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    else if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) this.complaints.push(params.args.map((arg) => arg.value).join(" "));
    else if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) this.complaints.push(params.entry.text);
    else if (method === "Page.javascriptDialogOpening") this.complaints.push("a dialog: " + params.message);
    else if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
  }

  send(method, params) {
    return this.browser.send(method, params, this.sessionId);
  }

  media({ dark = false, print = false }) {
    return this.send("Emulation.setEmulatedMedia", { media: print ? "print" : "", features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  }

  async run(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  async until(expression, milliseconds = 10000) {
    const end = Date.now() + milliseconds;
    while (!(await this.run(expression))) {
      if (Date.now() > end) throw new Error(`it never came true: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async key(key) {
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    const code = { ArrowRight: 39, ArrowLeft: 37, ArrowDown: 40, ArrowUp: 38, Tab: 9, Enter: 13, End: 35, Home: 36, Escape: 27 }[key] ?? 0;
    const event = { key, text, windowsVirtualKeyCode: code };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  async mouse(selector, click = false) {
    const box = await this.run(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect(); return {x: b.x + b.width / 2, y: b.y + b.height / 2}; })()`);
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...box });
    if (!click) return;
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", button: "left", clickCount: 1, ...box });
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", button: "left", clickCount: 1, ...box });
  }

  async type(text) {
    await this.send("Input.insertText", { text });
  }

  async picture(clip) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: false });
    return Buffer.from(data, "base64");
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.targetId });
  }
}
