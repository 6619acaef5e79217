// SPDX-License-Identifier: MIT
// A shared worker, which runs once for all tabs of a browser: it receives the news by one connection and passes them on to the tabs.
const tabs = new Set();
let source = null, last = null;

function send(what) {
	for (const tab of tabs) tab.postMessage(what);
}

function listen() {
	source = new EventSource("get/news");
	source.onmessage = e => send(last = JSON.parse(e.data));
	source.onerror = () => send(last = null);
}

onconnect = e => {
	const tab = e.ports[0];
	tabs.add(tab);
	// the only message from a tab is that it closes
	tab.onmessage = () => {
		tabs.delete(tab);
		if (tabs.size || !source) return;
		source.close();
		source = last = null;
	};
	if (last) tab.postMessage(last);
	if (!source) listen();
};
