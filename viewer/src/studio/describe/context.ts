// Where the cursor is in a model file, also while the text is no TOML yet.

export interface Context {
  header: boolean; // in the line of a header
  section: string; // the header above, empty at the top
  within: string[]; // keys whose inline tables are open
  key: string; // whose value the cursor is in, empty where a key is expected
  quoted: boolean; // within quotation marks
  type: string; // of the joint, where its table says it
}

const HEADER = /^\s*\[\[?\s*([\w.-]*)/;
const PAIR = /^\s*([\w.-]+)\s*=/;

/** What is around the end of a text that goes up to the cursor; `rest` follows it in its line. */
export function contextOf(before: string, rest: string): Context {
  const lines = before.split("\n"), last = lines[lines.length - 1];
  const header = /^\s*\[/.test(last) && !PAIR.test(last) && !inValue(lines);
  let section = "", begin = lines.length - 1;
  for (let i = lines.length - 1; i >= 0; i--) {
    const found = i < lines.length - 1 || header ? HEADER.exec(lines[i]) : null;
    if (found && !/[,={]/.test(lines[i])) { section = found[1]; break; }
  }
  while (begin > 0 && !PAIR.test(lines[begin]) && !HEADER.test(lines[begin]) && lines.length - begin < 60) begin--;
  return { header, section: section.split(".")[0], ...insideOf(lines.slice(begin).join("\n"), rest) };
}

function inValue(lines: string[]): boolean {
  let open = 0;
  for (let i = lines.length - 2; i >= 0 && lines.length - i < 60; i--) {
    for (const c of lines[i]) open += c === "[" ? 1 : c === "]" ? -1 : 0;
    if (PAIR.test(lines[i])) return open > 0;
    if (HEADER.test(lines[i]) && !/,\s*$/.test(lines[i])) return false;
  }
  return false;
}

interface Level { brace: boolean; key: string; begin: number }

function insideOf(text: string, rest: string): Omit<Context, "header" | "section"> {
  const stack: Level[] = [];
  let quote = "", key = "", word = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote) { if (c === quote && text[i - 1] !== "\\") quote = ""; continue; }
    if (c === '"' || c === "'") quote = c;
    else if (c === "#") { const end = text.indexOf("\n", i); if (end < 0) break; i = end; }
    else if (c === "=") { key = word.trim(); word = ""; }
    else if (c === "{" || c === "[") { stack.push({ brace: c === "{", key, begin: i }); key = ""; word = ""; }
    else if (c === "}" || c === "]") { key = stack.pop()?.key ?? ""; word = ""; }
    else if (c === ",") { if (stack.at(-1)?.brace) key = ""; word = ""; }
    else if (c === "\n") { if (!stack.length) key = ""; word = ""; }
    else word += c;
  }
  const braces = stack.filter((each) => each.brace), inner = braces.at(-1);
  const table = inner ? text.slice(inner.begin) + rest : "";
  const above = stack.map((each) => each.key).filter((each) => each);
  return {
    within: braces.length ? above.slice(0, braces.length) : [], quoted: quote !== "",
    key: key || (stack.length && !stack.at(-1)!.brace ? above.at(-1) ?? "" : ""),
    type: /type\s*=\s*["'](\w+)["']/.exec(table)?.[1] ?? "",
  };
}
