export { bytes, json, string, type Serde, type SerdeContext } from './serde';
