"use strict";
// What the scripts of the page share. All content is there without them.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, attributes = {}, ...content) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
};
const counted = (n) => n.toLocaleString("en-US");
// Called with each new row of a table.
const dressers = [];
