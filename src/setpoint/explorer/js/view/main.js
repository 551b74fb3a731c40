import { load } from "../board.js";

const page = document.getElementById("page");
const data = await load(JSON.parse(document.getElementById("payload").textContent));
page.textContent = data.programs[0].words;
