// Source of the draft in CodeMirror. Undo is that of the draft, so the editor has no history of its own.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Draft } from "../draft";
import type { Problem } from "../connection";
import { completions, explained, type Known } from "./completion";

const fromDraft = Annotation.define<boolean>(); // a change that came from the draft
const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--number)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ink)" },
  { tag: [tags.atom, tags.heading], color: "var(--accent)", fontWeight: "600" },
]);
const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "var(--raised)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace', lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 7%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--accent) 25%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--ground)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "0 6px 24px rgb(0 0 0 / 14%)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--accent)", color: "var(--ground)" },
  ".cm-completionDetail": { color: "inherit", opacity: "0.65" },
  ".cm-diagnostic": { padding: "4px 10px", whiteSpace: "pre-wrap", maxWidth: "60ch" },
});

export class Editor {
  readonly view: EditorView;

  constructor(draft: Draft, known: () => Promise<Known>) {
    const undo = { preventDefault: true };
    this.view = new EditorView({ state: EditorState.create({ doc: draft.text, extensions: [
      EditorView.cspNonce.of(document.body.dataset["nonce"] ?? ""),
      lineNumbers(), lintGutter(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), bracketMatching(), closeBrackets(),
      StreamLanguage.define(toml), syntaxHighlighting(colors), look, EditorView.lineWrapping,
      autocompletion({ override: [completions(known)], icons: false }), explained(known),
      keymap.of([
        { key: "Mod-z", run: () => { draft.undo(); return true; }, ...undo },
        { key: "Mod-y", mac: "Mod-Shift-z", run: () => { draft.redo(); return true; }, ...undo },
        { key: "Mod-Shift-z", run: () => { draft.redo(); return true; }, ...undo },
        ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...defaultKeymap,
      ]),
      EditorView.contentAttributes.of({ "aria-label": "Model file", spellcheck: "false" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((each) => each.annotation(fromDraft))) draft.change(update.state.doc.toString(), this);
      }),
    ] }) });
    draft.watchText((text, origin) => { if (origin !== this) this.setText(text); });
  }

  /** Sets the source; only the different part is replaced, so that the cursor does not move. */
  private setText(text: string): void {
    const now = this.view.state.doc.toString();
    if (text === now) return;
    let from = 0, end = 0;
    const shortest = Math.min(now.length, text.length);
    while (from < shortest && now[from] === text[from]) from++;
    while (end < shortest - from && now[now.length - 1 - end] === text[text.length - 1 - end]) end++;
    const insert = text.slice(from, text.length - end);
    this.view.dispatch({
      changes: { from, to: now.length - end, insert }, annotations: fromDraft.of(true),
      ...(this.view.hasFocus ? { selection: { anchor: from + insert.length }, scrollIntoView: true } : {}),
    });
  }

  /** Shows problems at their lines. */
  showProblems(problems: Problem[]): void {
    const { doc } = this.view.state, found: Diagnostic[] = [];
    for (const { line, path, fact, advice, blocking } of problems) {
      if (!line || line > doc.lines) continue;
      const { from, to, text } = doc.line(line), begin = from + text.search(/\S|$/);
      found.push({ from: Math.min(begin, to), to, severity: blocking === false ? "warning" : "error", message: `${path}: ${fact} ${advice}`.trim() });
    }
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  /** Goes to a line. */
  reveal(line: number): void {
    const { from, to } = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }
}
