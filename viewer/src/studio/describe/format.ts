// What model files may hold, and what the text of the draft says for it, as the server tells both.

import type { Link } from "../link";
import { patiently } from "../patience";

export type Form = "value" | "text" | "body" | "bodies" | "coordinate" | "switch" | "choice" | "joint" | "table";
export interface About { expects: string; required: boolean; form: Form; options?: string[]; usual?: string }
export type Keys = Record<string, About>;
export interface Format {
  sections: string[]; families: Record<string, string[]>; head: Keys; tables: Record<string, Keys>; named: string[];
  short: Record<string, string>; elements: Record<string, Keys>; joints: Record<string, Keys>; loop_joints: Record<string, Keys>;
}

export type Values = Record<string, string>;
export type ElementValues = Record<string, string | Values[]>; // joints are tables of their own
export interface Outlined { kind: string; index: number; values: ElementValues }
export interface Outline {
  head: Values; tables: Record<string, Values | Record<string, Values>>; elements: Outlined[]; convention: string; bodies: string[];
}
export type Place = (string | number)[];

let asked: Promise<Format> | null = null;

/** The keys of all elements, asked for once. */
export function formatOf(link: Link): Promise<Format> {
  asked ??= patiently(() => link.ask<Format>("format").answer).catch((error: unknown) => { asked = null; throw error; });
  return asked;
}

/** The entries of a table with names, such as parameters. */
export function entriesOf(outline: Outline | null, table: string): Record<string, Values> {
  return (outline?.tables[table] ?? {}) as Record<string, Values>;
}

/** A key in words. */
export function words(key: string): string {
  const text = key.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
