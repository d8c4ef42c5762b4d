// Completion at the cursor, and tooltips of keys.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { EditorState } from "@codemirror/state";
import { hoverTooltip, type Tooltip } from "@codemirror/view";
import { element } from "../../dom";
import { contextOf, type Context } from "./context";
import { entriesOf, type About, type Format, type Keys, type Outline } from "./format";

const FUNCTIONS = ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "abs", "sign", "min", "max", "dot", "piecewise"];

export interface Known { format: Format | null; outline: Outline | null }

function around(state: EditorState, at: number): Context {
  return contextOf(state.sliceDoc(0, at), state.sliceDoc(at, state.doc.lineAt(at).to));
}

/** Keys that are valid at the cursor. */
function keysAt(format: Format, { section, within }: Context): Keys {
  const named = format.named.includes(section), table = format.tables[section];
  if (within.includes("joint")) return {};
  if (!section) return within.length && format.named.includes(within[0].split(".")[0]) ? format.tables[within[0].split(".")[0]] : format.head;
  if (table) return named ? (within.length ? table : {}) : table;
  return within.length ? {} : format.elements[section] ?? {};
}

function jointKeys(format: Format, { section, type }: Context): Keys {
  const kinds = section === "loop" ? format.loop_joints : format.joints;
  return kinds[type] ?? { type: { expects: "joint type", required: true, form: "choice" } };
}

function aboutAt(format: Format, context: Context, key: string): About | undefined {
  return (context.within.includes("joint") ? jointKeys(format, context) : keysAt(format, context))[key];
}

function info(about: About): string {
  return [about.required ? "Required: " : "", about.expects, about.default ? ` (default: ${about.default})` : ""].join("");
}

/** Completions at the cursor; the first request waits for the file format. */
export function completions(known: () => Promise<Known>): (context: CompletionContext) => Promise<CompletionResult | null> {
  return async (request) => {
    const { format, outline } = await known();
    if (!format) return null;
    const context = around(request.state, request.pos), word = request.matchBefore(/[\w-]*/)!;
    if (!request.explicit && word.from === word.to && !context.quoted) return null;
    const options = context.header ? headers(format) : context.key ? values(format, outline, context) : keys(format, context);
    if (!options.length) return null;
    if (!context.header) return { from: word.from, options, validFor: /^[\w-]*$/ };
    const { from, to } = request.state.doc.lineAt(request.pos); // including brackets that were closed automatically
    return { from, to, options, filter: true };
  };
}

function headers(format: Format): Completion[] {
  const kinds = Object.entries(format.families).flatMap(([family, all]) => all.map((kind) => ({ label: `[[${kind}]]`, detail: family, type: "class" })));
  return [...kinds, ...Object.keys(format.tables).map((name) => ({ label: `[${name}]`, detail: "table", type: "class" }))];
}

function keys(format: Format, context: Context): Completion[] {
  const found = context.within.includes("joint") ? jointKeys(format, context) : keysAt(format, context);
  const own = Object.entries(found).map(([key, about]) => ({ label: key, apply: `${key} = `, type: "property", detail: about.required ? "required" : undefined, info: info(about), boost: about.required ? 2 : 1 }));
  return context.section || context.within.length ? own : [...own, ...headers(format)];
}

function values(format: Format, outline: Outline | null, context: Context): Completion[] {
  const joint = context.within.includes("joint"), about = aboutAt(format, context, context.key);
  const marks = (label: string, detail: string): Completion => ({ label, detail, type: "variable", apply: context.quoted ? label : `"${label}"` });
  if (joint && context.key === "type") return Object.keys(context.section === "loop" ? format.loop_joints : format.joints).map((kind) => marks(kind, "joint"));
  if (about?.form === "switch") return ["true", "false"].map((label) => ({ label, type: "keyword" }));
  if (about?.options) return about.options.map((label) => marks(label, "choice"));
  if (about?.form === "body" || about?.form === "bodies") return ["world", ...(outline?.bodies ?? [])].map((name) => marks(name, "body"));
  if (about?.form === "text") return [];
  const parameters = Object.entries(entriesOf(outline, "parameters")).map(([name, { description }]) => ({ ...marks(name, "parameter"), info: description }));
  const coordinates = Object.entries(entriesOf(outline, "coordinates")).map(([name, { description }]) => ({ ...marks(name, "coordinate"), info: description }));
  if (about?.form === "coordinate") return coordinates;
  return [...coordinates, ...parameters, ...(context.quoted ? FUNCTIONS.map((name) => ({ label: name, apply: `${name}(`, type: "function", boost: -1 })) : [])];
}

/** Tooltip with the expected value of a key. */
export function explained(known: () => Promise<Known>): ReturnType<typeof hoverTooltip> {
  return hoverTooltip(async (view, at): Promise<Tooltip | null> => {
    const { format } = await known(), line = view.state.doc.lineAt(at);
    const found = [...line.text.matchAll(/([\w-]+)\s*=/g)].find((each) => line.from + each.index <= at && at <= line.from + each.index + each[1].length);
    if (!format || !found) return null;
    const begin = line.from + found.index, about = aboutAt(format, around(view.state, begin), found[1]);
    if (!about?.expects) return null;
    return { pos: begin, end: begin + found[1].length, above: true, create: () => ({ dom: element("div", { class: "explained" }, element("b", {}, found[1]), ` ${info(about)}`) }) };
  });
}
