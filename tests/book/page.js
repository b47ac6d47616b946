// What a page is judged by, gathered inside it.
(() => {
  for (const panel of document.querySelectorAll("main article details")) panel.open = true;
  const visible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const parse = (color) => {
    const parts = color.match(/[\d.]+/g).map(Number);
    return color.startsWith("color(srgb") ? [...parts.slice(0, 3).map((x) => x * 255), parts[3] ?? 1] : [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((x, i) => x * a + under[i] * (1 - a));
  const ground = (element) => {
    const layers = [];
    for (let node = element; node; node = node.parentElement) {
      const layer = parse(getComputedStyle(node).backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reduceRight((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (element) => {
    const under = ground(element);
    const style = getComputedStyle(element);
    const [high, low] = [luminance(over(parse(style.color), under)), luminance(under)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const texts = [...document.querySelectorAll("main *, .bd-sidebar *")].filter((e) => hasText(e) && !e.closest("svg, mjx-container, script, style, dialog, .headerlink, .copybtn") && visible(e));
  return {
    texts: texts.length,
    document: { lang: document.documentElement.lang, title: document.title.length > 0, mains: document.querySelectorAll("main").length, zoom: !/user-scalable=no|maximum-scale/.test(document.querySelector("meta[name=viewport]")?.content ?? "no viewport, user-scalable=no") },
    headings: [...document.querySelectorAll("main article :is(h1,h2,h3,h4,h5,h6)")].filter(visible).map((h) => [Number(h.tagName[1]), h.textContent.trim()]),
    withoutAlt: [...document.images].filter((image) => (!image.alt?.trim() || image.alt.includes("_images/")) && image.getAttribute("role") !== "presentation").map((image) => image.src),
    lowContrast: texts.map((e) => [contrast(e), e]).filter(([ratio]) => ratio < 4.5).map(([ratio, e]) => `${ratio.toFixed(2)} <${e.tagName.toLowerCase()} class="${e.className}"> ${e.textContent.trim().slice(0, 40)}`),
    figures: [...document.querySelectorAll("figure.recorded-figure:not(.is-playable)")].map((figure) => [...figure.querySelectorAll("img")].filter(visible).map((image) => ({ source: image.src, width: image.naturalWidth }))),
    unlabelled: [...document.querySelectorAll("a[href], button")].filter((e) => visible(e) && !(e.textContent.trim() || e.ariaLabel || e.title || e.querySelector("img[alt]"))).map((e) => e.outerHTML.slice(0, 120)),
    unnamed: [...document.querySelectorAll("main :is(input, select, textarea)")].filter((e) => visible(e) && !(e.labels?.length || e.ariaLabel || e.title)).map((e) => e.outerHTML.slice(0, 120)),
    withoutHeads: [...document.querySelectorAll("main article table")].filter((table) => visible(table) && !table.querySelector("th")).map((table) => table.outerHTML.slice(0, 120)),
    silentDrawings: [...document.querySelectorAll("main article svg[role=img]:not(mjx-container *)")].filter((e) => visible(e) && !e.ariaLabel && !e.hasAttribute("aria-labelledby")).length,
    badMaths: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map((e) => e.textContent),
    wideMaths: [...document.querySelectorAll("main div.math")].filter((e) => visible(e) && e.querySelector("mjx-container svg")?.getBoundingClientRect().width > e.clientWidth + 1).map((e) => `${e.id} ${e.textContent.trim().slice(0, 60)}`),
    rawMaths: [...document.querySelectorAll("main .math")].filter((e) => !e.querySelector("mjx-container")).length,
    duplicateIds: [...document.querySelectorAll("main article [id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i),
  };
})();
