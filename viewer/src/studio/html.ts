// HTML from the server, in which all strings of a model are already escaped.

/** Parses HTML; scripts in it do not run, because of the template and of the content security policy. */
export function htmlOf(text: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content;
}
